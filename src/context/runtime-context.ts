import { checkFunction, checkOptions, must } from "../checks/index.ts";
import { type CallOptions, currentCallContext, extendCallContext } from "../routine/index.ts";

/** Call options for every call of a scope. */
export interface AmbientOptions {
  /** Longest time in milliseconds to find a worker and be accepted by it. */
  readonly dispatchTimeout?: number;
  /** Cancels every call of the scope. */
  readonly signal?: AbortSignal;
}

const CHECKS = { dispatchTimeout: must.duration, signal: must.abortSignal };

/** The call options in force for a scope. They reach the calls that tasks of the scope make, too. */
export const runtimeContext = {
  /** Runs `fn` with `options` for every call it makes. Options of `with()` win for their call. Throws `InvalidArgument` for wrong options. */
  run<R>(options: AmbientOptions, fn: () => R): R {
    checkOptions(options, CHECKS, "runtimeContext.run()");
    checkFunction(fn, "runtimeContext.run()", "options and a function to run with them");
    const ambient: CallOptions = { ...currentCallContext()?.ambient, ...options };
    return extendCallContext({ ambient }, fn);
  },
} as const;
