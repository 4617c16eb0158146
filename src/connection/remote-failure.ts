import { isRuntimeFrame, setStack } from "../routine/runtime-frames.ts";

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

/**
 * The rejection handler of every call's promise. Must be a reaction of the promise that the caller awaits, so that
 * the engine's asynchronous stack leads to the call.
 */
export function throwAtCallSite(failure: unknown): never {
  if (!(failure instanceof RemoteFailure)) throw failure;
  const { error } = failure;
  if (error instanceof Error) addCallSite(error);
  throw error;
}

function addCallSite(error: Error): void {
  const here: { stack?: string } = {};
  Error.captureStackTrace(here, throwAtCallSite);
  const frames = (here.stack ?? "")
    .split("\n")
    .slice(1)
    .filter((line) => !isRuntimeFrame(line));
  if (frames.length === 0) return;
  const stack = typeof error.stack === "string" ? error.stack : `${error.name}: ${error.message}`;
  setStack(error, `${stack}\n${frames.join("\n")}`);
}
