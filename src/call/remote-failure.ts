import { isError, withStackLimit } from "../checks/index.ts";
import { WoolError } from "../errors.ts";
import { isRuntimeLine, mapSources, setStack } from "../routine/index.ts";

/**
 * A failure on its way to the caller. The error's stack gets its second half, where the call was made, only when the
 * caller's own promise settles: then the engine knows who waits for it.
 */
export class RemoteFailure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Errors whose stack leads to a call. Many calls may fail with one error, such as the reason of a signal. */
const located = new WeakSet<Error>();

/** More lines than the runtime itself adds to a stack in a call. */
const OWN_DEPTH = 20;

/** Tells the caller of a call that it failed. */
export type Reject = (failure: unknown) => void;

/**
 * Rejects the promise that `resolve` belongs to, with the place of the call in the error's stack; calls `reject` instead if
 * there is one. Every call that waits would need a second promise and a `reject` of its own otherwise: 230 bytes.
 */
export function rejectAtCallSite(
  resolve: (value: unknown) => void,
  reject: Reject | undefined,
  failure: unknown,
): void {
  if (reject === undefined) resolve(new Rejection(failure));
  else reject(failure);
}

/** Rejects the promise that is resolved with it. */
class Rejection {
  readonly #failure: unknown;

  constructor(failure: unknown) {
    this.#failure = failure;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- promises are resolved with it
  then(resolve: (value: never) => void, reject: Reject): void {
    // Not `Promise.reject`: nobody handles that promise when it is made, and debuggers of Node.js 22 stop there.
    void Promise.resolve()
      .then(() => throwAtCallSite(this.#failure))
      .then(resolve, reject);
  }
}

/**
 * The rejection handler of every call. Must be a reaction of a promise that the caller's promise follows, so that the
 * engine's asynchronous stack leads to the call.
 */
export function throwAtCallSite(failure: unknown): never {
  throw placed(failure, throwAtCallSite);
}

/** The error of a failure, with the place of the call in its stack. Call it from the code that waits for the call. */
export function placed(failure: unknown, below: (failure: unknown) => unknown = placed): unknown {
  if (!(failure instanceof RemoteFailure)) return failure;
  const { error } = failure;
  if (isError(error) && !located.has(error)) addCallSite(error, below);
  return error;
}

/** The error of a failure, as it came. */
export function errorOf(failure: unknown): unknown {
  return failure instanceof RemoteFailure ? failure.error : failure;
}

function addCallSite(error: Error, below: (failure: unknown) => unknown): void {
  const here: { stack?: string } = {};
  Error.captureStackTrace(here, below);
  const lines = userLines(here.stack);
  if (lines.length === 0) return;
  located.add(error);
  try {
    mapSources(error);
    const stack = typeof error.stack === "string" ? error.stack : `${error.name}: ${error.message}`;
    const remote = WoolError.isWoolError(error) ? withoutCallbacks(stack) : stack;
    setStack(error, `${remote}\n${lines.join("\n")}`);
  } catch {
    // The stack or the name of an error may be unreadable. Such an error is thrown as it is.
  }
}

/** Errors of the runtime are created in its callbacks, which Node.js calls. Those lines tell users nothing. */
function withoutCallbacks(stack: string): string {
  return stack
    .split("\n")
    .filter((line) => !isRuntimeLine(line) && !/^\s+at .*\(node:/.test(line))
    .join("\n");
}

/** Removes the runtime's own lines from the stack of an error that is thrown during the call itself. */
export function fromCaller(error: unknown): unknown {
  if (!WoolError.isWoolError(error)) return error;
  const limit = Error.stackTraceLimit;
  const here: { stack?: string } = {};
  withStackLimit(limit + OWN_DEPTH, () => Error.captureStackTrace(here, fromCaller));
  const lines = userLines(here.stack).slice(0, limit);
  setStack(error, [`${error.name}: ${error.message}`, ...lines].join("\n"));
  return error;
}

function userLines(stack: string | undefined): string[] {
  const lines = (stack ?? "")
    .split("\n")
    .slice(1)
    .filter((line) => !isRuntimeLine(line));
  // Skips the engine's lines between those of the runtime.
  const first = lines.findIndex((line) => !/^\s+at (?:new Promise|\S+\.next) \(<anonymous>\)$/.test(line));
  return first < 0 ? [] : lines.slice(first);
}
