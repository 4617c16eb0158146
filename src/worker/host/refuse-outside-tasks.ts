import { WorkerStartError } from "../../errors.ts";
import { isOutsideTasks } from "../../routine/index.ts";

/**
 * Throws `WorkerStartError` in a worker outside of any task. Otherwise a module that starts workers when it is loaded
 * would start more in each worker that loads it, endlessly.
 */
export function refuseOutsideTasks(what: string): void {
  if (!isOutsideTasks()) return;
  throw new WorkerStartError(
    `${what} was called in a worker outside of any task: the worker was loading a module that starts workers when it is ` +
      "loaded, and each of those would load it and start more. Start the pool in the entry file of the program, or in a " +
      "function that is only called there, and keep routines in modules that start none.",
  );
}
