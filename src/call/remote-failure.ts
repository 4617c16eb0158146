import { WoolError } from "../errors.ts";
import { isRuntimeLine, setStack } from "../routine/index.ts";

/**
 * A failure on its way to the caller. The error's stack gets its second half, where the call was made, only when the
 * caller's own promise is being settled: that is when the engine knows who waits for it.
 */
export class RemoteFailure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Errors of calls that nobody awaits directly, as those of `map`. */
const unplaced = new WeakSet<Error>();

/** More frames than a call has of the runtime's own. */
const OWN_DEPTH = 20;

/**
 * The rejection handler of every call's promise. Must be a reaction of the promise that the caller awaits, so that
 * the engine's asynchronous stack leads to the call.
 */
export function throwAtCallSite(failure: unknown): never {
  if (!(failure instanceof RemoteFailure)) throw failure;
  const { error } = failure;
  if (error instanceof Error) addCallSite(error, throwAtCallSite);
  throw error;
}

/** The error of a call that was awaited on someone's behalf, to be thrown to them: its stack leads there if to no other place. */
export function placed(error: unknown): unknown {
  if (error instanceof Error && unplaced.delete(error)) addCallSite(error, placed);
  return error;
}

function addCallSite(error: Error, below: (failure: unknown) => unknown): void {
  const here: { stack?: string } = {};
  Error.captureStackTrace(here, below);
  const frames = userFrames(here.stack);
  if (frames.length === 0) {
    unplaced.add(error);
    return;
  }
  try {
    const stack = typeof error.stack === "string" ? error.stack : `${error.name}: ${error.message}`;
    setStack(error, `${stack}\n${frames.join("\n")}`);
  } catch {
    // An error may have a stack or a name that cannot be read: it is thrown as it is.
  }
}

/** Cuts the runtime's own frames off an error that is thrown in the course of the call itself. */
export function fromCaller(error: unknown): unknown {
  if (!WoolError.isWoolError(error)) return error;
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = limit + OWN_DEPTH;
  const here: { stack?: string } = {};
  Error.captureStackTrace(here, fromCaller);
  Error.stackTraceLimit = limit;
  const frames = userFrames(here.stack).slice(0, limit);
  setStack(error, [`${error.name}: ${error.message}`, ...frames].join("\n"));
  return error;
}

function userFrames(stack: string | undefined): string[] {
  const frames = (stack ?? "")
    .split("\n")
    .slice(1)
    .filter((line) => !isRuntimeLine(line));
  // What the engine has of its own between the runtime's frames.
  const first = frames.findIndex((line) => !/^\s+at (?:new Promise|\S+\.next) \(<anonymous>\)$/.test(line));
  return first < 0 ? [] : frames.slice(first);
}
