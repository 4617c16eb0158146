import { currentCallContext } from "./call-context.ts";

/** The task that is running, as the code inside it sees it. */
export interface Task {
  /** Names the task in the whole system. */
  readonly id: string;
  /** Id of the task that made the call, if one did. */
  readonly caller: string | undefined;
  /** The routine and where its worker runs it: `add`. */
  readonly tag: string;
  /** The routine's name. */
  readonly name: string;
  /** When the task must have ended, in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** Aborted when the caller cancels the task, or when its time is over. */
  readonly signal: AbortSignal;
  /** What the task threw, once it has. */
  readonly exception: unknown;
  /** The worker that runs it. */
  readonly worker: string;
}

/** The task that the calling code is part of, or `undefined` outside of tasks. */
export function currentTask(): Task | undefined {
  return currentCallContext()?.task;
}
