import type { DispatchOutcome, LoadBalancerContextView, TaskInfo } from "./load-balancer.ts";

/**
 * Stands for the results of a task that a worker has accepted. The results themselves go to the caller, not through the
 * balancer.
 */
export interface ResultStream {
  /** The worker that has the task. */
  readonly uid: string;
  /** Resolves when the worker is done with the task, or the caller does not wait for it any more. Never rejects. */
  readonly ended: Promise<DispatchOutcome>;
}

/** How a task is sent to a worker. */
export interface SendOptions {
  /**
   * Longest time in milliseconds to wait for a connection and for room at the worker. Default: no limit besides those
   * of the call.
   */
  readonly timeout?: number;
}

/** A task that a balancer dispatches itself. */
export interface DispatchableTask extends TaskInfo {
  /**
   * Hands the task to a worker of the context, as soon as that is connected and has room; resolves when the worker has
   * accepted it. Rejects with
   * - an `RpcError` when it is certain that this worker has not run it and will not: it refused, cannot be reached, has
   *   left the pool, or had no room within `timeout`. The task may be sent to another;
   * - `WorkerLost` when the worker was lost before it answered. The task may have run, and this dispatch of it is over;
   * - `TaskCancelled` when nobody waits for the task any more;
   * - `InvalidArgument` when a worker already has the task: at most one may run it.
   */
  sendTo(uid: string, options?: SendOptions): Promise<ResultStream>;
}

/** The options with which a balancer dispatches a task. */
export interface DispatchOptions {
  /** The workers of the pool. */
  readonly context: LoadBalancerContextView;
  /** The rest of the call's `dispatchTimeout`, in milliseconds. `undefined` if it has none. */
  readonly timeout: number | undefined;
}

/**
 * Dispatches tasks itself: it decides when, to which worker, and what to do when a worker refuses. For balancers that need
 * more than an order to try workers in, such as their own queue.
 */
export interface DispatchingLoadBalancerLike {
  /**
   * Called once for each task, and again for an `idempotent` task whose worker was lost. Many calls may be under way.
   * Must resolve with the value of `task.sendTo`. If it rejects, the call rejects with the same error, and a worker
   * that has the task is told to stop.
   */
  dispatch(task: DispatchableTask, options: DispatchOptions): Promise<ResultStream>;
}

/** Tells whether `value` has the shape of a `DispatchingLoadBalancerLike`. */
export function isDispatchingLoadBalancer(value: unknown): value is DispatchingLoadBalancerLike {
  return typeof value === "object" && value !== null && "dispatch" in value && typeof value.dispatch === "function";
}
