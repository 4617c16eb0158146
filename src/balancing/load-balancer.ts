import type { WorkerMetadata } from "../discovery/index.ts";

/** A task as a balancer sees it. */
export interface TaskInfo {
  /** Names the task in the calling process. */
  readonly sequence: number;
  /** The routine's name. */
  readonly name: string;
  /** Affinity key of the call, if it has one. */
  readonly key: string | undefined;
  /** Tags that its worker must have. The context that comes with the task has only such workers. */
  readonly needs: readonly string[];
  readonly kind: "call" | "stream";
  /** Id of the task that made the call, if a task did. */
  readonly caller: string | undefined;
  /** Size of the encoded arguments. */
  readonly bytes: number;
}

/** The workers of one pool, as a balancer sees them. The same object for every task of that pool. */
export interface LoadBalancerContextView {
  /** Workers to choose from, by uid, in the order in which they were found. A live view: always the same map. */
  readonly workers: ReadonlyMap<string, WorkerMetadata>;
  /**
   * Changes whenever a worker joins, leaves or changes: use it to know when to recompute data that depends on
   * `workers`.
   */
  readonly version: number;
  /** How many tasks this process has at a worker or waiting for it. */
  load(uid: string): number;
}

/**
 * The outcome of a task that was handed to a worker. `done`: it returned. `failed`: it threw. `rejected`: the worker
 * did not run it. `lost`: the worker was lost with it. `cancelled`: the caller does not wait any more, or its time was
 * over.
 */
export interface DispatchOutcome {
  readonly status: "done" | "failed" | "rejected" | "lost" | "cancelled";
}

/** Decides which worker gets a task. One instance may serve many pools, and keeps its state for each context. */
export interface LoadBalancerLike {
  /**
   * Yields uids in the order to try them, each at most once. The pool takes the first worker that has room, and asks
   * for the next one when a worker has no room, cannot be reached or refuses. If it throws, the call rejects with that
   * error. If no worker that it yields can take the task, the call rejects with `NoWorkersAvailable`.
   */
  delegate(task: TaskInfo, context: LoadBalancerContextView): Iterable<string> | AsyncIterable<string>;
  /**
   * Whether the task waits for an offered worker that has no room, instead of going to the next one. For tasks that
   * belong to one worker. Default: no task waits.
   */
  waits?(task: TaskInfo): boolean;
  /** Called each time a worker is done with a task, once. For balancers that keep statistics. */
  settled?(uid: string, outcome: DispatchOutcome, context: LoadBalancerContextView): void;
  /**
   * True when any of the least loaded workers will do. The pool then sends waiting tasks in runs to the least loaded
   * workers without asking, which takes 0.6x of the processor time for each trivial call. Default: false.
   */
  readonly levels?: boolean;
}

/** Tells whether `value` has the shape of a `LoadBalancerLike`. */
export function isLoadBalancer(value: unknown): value is LoadBalancerLike {
  return typeof value === "object" && value !== null && "delegate" in value && typeof value.delegate === "function";
}
