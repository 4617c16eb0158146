import { checkOptions, must } from "../../checks/index.ts";

/** How long running tasks may go on when what runs them is stopped. */
export interface StopOptions {
  /** Milliseconds: 0, the default, cancels at once; above waits that long first; negative or infinite waits for all. */
  readonly timeout?: number;
}

const STOP_CHECKS = { timeout: must.signedDuration };
const START_CHECKS = { timeout: must.duration };

/** The time that a stop gives to running tasks, in milliseconds; `Infinity` for all that they need. */
export function stopTimeout(options: StopOptions | undefined, what: string): number {
  if (options === undefined) return 0;
  checkOptions(options, STOP_CHECKS, what);
  const { timeout = 0 } = options;
  return timeout < 0 ? Number.POSITIVE_INFINITY : timeout;
}

/** The time that a start may take, in milliseconds; `Infinity` for no limit. Throws `InvalidArgument` for anything else. */
export function startTimeout(options: { readonly timeout?: number } | undefined, what: string): number {
  if (options === undefined) return Number.POSITIVE_INFINITY;
  checkOptions(options, START_CHECKS, what);
  return options.timeout ?? Number.POSITIVE_INFINITY;
}
