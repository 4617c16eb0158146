import type { DispatchOutcome, LoadBalancerContextView, TaskInfo } from "./load-balancer.ts";

/**
 * The results of a task that a worker has accepted. They go to the caller without passing through the balancer: this
 * stands for them, and tells when they are over.
 */
export interface ResultStream {
  /** The worker that has the task. */
  readonly uid: string;
  /** Resolves when the worker has said its last word, or the caller no longer waits for it. Never rejects. */
  readonly ended: Promise<DispatchOutcome>;
}

/** How a task is sent to a worker. */
export interface SendOptions {
  /** Longest time in milliseconds to wait for a connection and for room at the worker. Default: as the call has. */
  readonly timeout?: number;
}

/** A task that a balancer dispatches itself. */
export interface DispatchableTask extends TaskInfo {
  /**
   * Hands the task to a worker of the context, as soon as that is connected and has room; resolves when the worker has
   * accepted it. Rejects with
   * - an `RpcError` when it is certain that this worker has not run it and will not: it refused, cannot be reached, is
   *   not there any more, or had no room within `timeout`. The task may be sent to another;
   * - `WorkerLost` when the worker vanished before it answered. The task may have run, and this dispatch of it is over;
   * - `TaskCancelled` when nobody waits for the task any more;
   * - `InvalidArgument` when the task is at a worker already: it is executed by at most one.
   */
  sendTo(uid: string, options?: SendOptions): Promise<ResultStream>;
}

/** What a balancer is given to dispatch a task. */
export interface DispatchOptions {
  /** The workers of the pool. */
  readonly context: LoadBalancerContextView;
  /** What is left of the call's `dispatchTimeout`, in milliseconds. `undefined`: it has none. */
  readonly timeout: number | undefined;
}

/**
 * Dispatches tasks itself: when, to whom, and what to do when a worker refuses. For those that need more than an order to
 * try workers in, such as a queue of their own.
 */
export interface DispatchingLoadBalancerLike {
  /**
   * Called once for each task, and once more for an `idempotent` one whose worker was lost; for many at a time. Resolves
   * with what `task.sendTo` resolved with. What it rejects with is what the call rejects with; a worker that has the task
   * is then told to stop.
   */
  dispatch(task: DispatchableTask, options: DispatchOptions): Promise<ResultStream>;
}

/** Tells whether `value` has the shape of a `DispatchingLoadBalancerLike`. */
export function isDispatchingLoadBalancer(value: unknown): value is DispatchingLoadBalancerLike {
  return typeof value === "object" && value !== null && "dispatch" in value && typeof value.dispatch === "function";
}
