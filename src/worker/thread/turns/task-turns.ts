import type { CallObserver } from "../../../routine/index.ts";
import type { GeneratorTurns } from "../routines/index.ts";
import type { RunningTask } from "../running-task.ts";
import type { TaskParking } from "./task-parking.ts";

/**
 * While a task waits for calls that it made, another may run in its place. Otherwise tasks could wait for each other
 * forever.
 */
export function callObserver(task: RunningTask, parking: TaskParking): CallObserver {
  return {
    made: () => {
      if (++task.nested > 1 || task.state !== "running") return;
      task.state = "waiting";
      parking.giveBack();
    },
    ended: () => {
      if (--task.nested > 0 || task.state !== "waiting") return;
      task.state = "running";
      parking.resume();
    },
  };
}

/**
 * While a generator waits for the next request, another task may run in its place: the request may depend on that task.
 * When it is asked, it waits for its turn like a task.
 */
export function generatorTurns(task: RunningTask, parking: TaskParking): Pick<GeneratorTurns, "due" | "rests"> {
  return {
    due: (go) => {
      if (task.state !== "resting") return go();
      if (task.nested > 0) {
        task.state = "waiting";
        return go();
      }
      task.state = "due";
      const start = (): void => {
        task.state = "running";
        if (task.nested > 0) {
          task.state = "waiting";
          parking.giveBack();
        }
        go();
      };
      parking.take({ task, start, drop: () => undefined });
    },
    rests: () => restGenerator(task, parking),
  };
}

/** A generator has no request to serve. */
export function restGenerator(task: RunningTask, parking: TaskParking): void {
  const { state } = task;
  if (state !== "running" && state !== "waiting") return;
  task.state = "resting";
  if (state === "running") parking.giveBack();
}

/** A generator that rests or waits for its turn is closed: its clean-up does not wait for a permit. */
export function wakeToClose(task: RunningTask, parking: TaskParking): void {
  if (task.state !== "resting" && task.state !== "due") return;
  if (task.state === "due") parking.remove(task);
  if (task.nested > 0) {
    task.state = "waiting";
    return;
  }
  task.state = "running";
  parking.resume();
}
