import { checkFunction, checkOptions, must } from "../checks/index.ts";
import { type CallOptions, currentCallContext, extendCallContext } from "../routine/index.ts";

/** Call options for every call inside `runtimeContext.run`. */
export interface AmbientOptions {
  /** Longest time in milliseconds to find a worker and be accepted by it. Default: none. */
  readonly dispatchTimeout?: number;
  /** Cancels every call made there. */
  readonly signal?: AbortSignal;
}

const CHECKS = { dispatchTimeout: must.duration, signal: must.abortSignal };

/** Sets call options for all calls that a function makes. They also apply to the calls that its tasks make. */
export const runtimeContext = {
  /** Runs `fn` with `options` for every call it makes. Options of `with()` win for their call. Throws `InvalidArgument` for wrong options. */
  run<R>(options: AmbientOptions, fn: () => R): R {
    checkOptions(options, CHECKS, "runtimeContext.run()");
    checkFunction(fn, "runtimeContext.run()", "options and a function to run with them");
    const ambient: CallOptions = { ...currentCallContext()?.ambient, ...options };
    return extendCallContext({ ambient }, fn);
  },
} as const;
