import { checkOptions, must } from "../../checks/index.ts";

/** How long running tasks may go on when their worker or pool is stopped. */
export interface StopOptions {
  /**
   * Milliseconds. 0, the default: cancel tasks at once. Positive: wait that long first. Negative or infinite: wait for
   * all of them.
   */
  readonly timeout?: number;
}

const STOP_CHECKS = { timeout: must.signedDuration };
const START_CHECKS = { timeout: must.duration };

/** The time that a stop gives to running tasks, in milliseconds; `Infinity` for no limit. */
export function stopTimeout(options: StopOptions | undefined, what: string): number {
  if (options === undefined) return 0;
  checkOptions(options, STOP_CHECKS, what);
  const { timeout = 0 } = options;
  return timeout < 0 ? Number.POSITIVE_INFINITY : timeout;
}

/** The time that a start may take, in milliseconds; `Infinity` for no limit. Throws `InvalidArgument` for a wrong option. */
export function startTimeout(options: { readonly timeout?: number } | undefined, what: string): number {
  if (options === undefined) return Number.POSITIVE_INFINITY;
  checkOptions(options, START_CHECKS, what);
  return options.timeout ?? Number.POSITIVE_INFINITY;
}
