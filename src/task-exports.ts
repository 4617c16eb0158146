import { ContextVar, runtimeContext } from "./context/index.ts";
import * as errors from "./errors.ts";
import { Cell, registerRuntimeExports, shipping } from "./functions/index.ts";
import { currentTask, perWorker, routine } from "./routine/index.ts";
import { share } from "./sharing/index.ts";
import { events } from "./telemetry/index.ts";

/**
 * Makes the exports of this package travel by identity that a task thread has in any case. Code that travels and uses them
 * gets the worker's own, not copies.
 */
export function registerTaskExports(): void {
  registerRuntimeExports("wool-ts", {
    ...errors,
    Cell,
    ContextVar,
    currentTask,
    events,
    perWorker,
    routine,
    runtimeContext,
    share,
    shipping,
  });
}
