import { currentCallContext } from "./call-context.ts";

/** The task that is running, as the code inside it sees it: a frozen plain object. */
export interface Task {
  /** Names the task in the whole system. */
  readonly id: string;
  /** Id of the task that made the call, if one did. */
  readonly caller: string | undefined;
  /** The routine's name. */
  readonly name: string;
  /** The routine's name and the worker that runs it, for logs: `add@worker-7`. */
  readonly tag: string;
  /** The uid of the worker that runs it. */
  readonly worker: string;
  /** When the task must have ended, in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** Aborted when the caller cancels the task, or when its time is over. */
  readonly signal: AbortSignal;
  /** Affinity key of the call, if it has one. */
  readonly key: string | undefined;
  /**
   * Why the task ends with an error: the error that it threw, once its code has ended; inside a `finally` also the
   * reason of its cancellation, or the error that its caller threw into a generator. Not enumerable.
   */
  readonly exception: unknown;
}

/** A task as the runtime knows it. The code inside the task gets a copy of these fields and nothing else. */
export type TaskRecord = Task;

const views = new WeakMap<TaskRecord, Task>();

/** The task that the calling code is part of, or `undefined` outside of tasks. The same object for each call in a task. */
export function currentTask(): Task | undefined {
  const record = currentCallContext()?.task;
  if (record === undefined) return undefined;
  let view = views.get(record);
  if (view === undefined) {
    view = viewOf(record);
    views.set(record, view);
  }
  return view;
}

function viewOf(record: TaskRecord): Task {
  const { id, caller, name, tag, worker, deadline, signal, key } = record;
  const view = { id, caller, name, tag, worker, deadline, signal, key };
  Object.defineProperty(view, "exception", { get: () => record.exception });
  return Object.freeze(view) as Task;
}
