import type { DispatchOutcome, LoadBalancerContextView, TaskInfo } from "./load-balancer.ts";

/**
 * Represents the results of a task that a worker has accepted. The results themselves go to the caller, not through the
 * balancer.
 */
export interface ResultStream {
  /** The worker that has the task. */
  readonly uid: string;
  /** Resolves when the worker is done with the task, or the caller no longer waits for it. Never rejects. */
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

/** The options with which a balancer dispatches a task. */
export interface DispatchOptions {
  /** The workers of the pool. */
  readonly context: LoadBalancerContextView;
  /** The rest of the call's `dispatchTimeout`, in milliseconds. `undefined`: it has none. */
  readonly timeout: number | undefined;
}

/**
 * Dispatches tasks itself: it decides when, to which worker, and what to do when a worker refuses. For balancers that need
 * more than an order to try workers in, such as their own queue.
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
