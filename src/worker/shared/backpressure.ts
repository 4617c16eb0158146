/** What a backpressure hook is told of a task that has arrived. */
export interface BackpressureContext {
  /** The task. */
  readonly task: {
    readonly id: string;
    /** The routine's name. */
    readonly name: string;
    /** Id of the task that made the call, if one did. */
    readonly caller: string | undefined;
  };
  /** Tasks of this task thread that have been started and have not ended. */
  readonly running: number;
  /** Tasks of this task thread that wait because `maxConcurrency` are running. */
  readonly waiting: number;
}

/**
 * Decides in the worker whether a task is taken: true refuses it, and the caller tries the next worker. It travels like
 * any function, and is asked for each task, so it should be quick.
 */
export type BackpressureLike = (context: BackpressureContext) => boolean | Promise<boolean>;
