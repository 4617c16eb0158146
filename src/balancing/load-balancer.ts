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
  /** Workers that can be chosen, by uid, in the order in which they were found. A live view: always the same map. */
  readonly workers: ReadonlyMap<string, WorkerMetadata>;
  /** Changes whenever a worker joins, leaves or changes: tells when to recompute what depends on `workers`. */
  readonly version: number;
  /** How many tasks this process has at a worker or waiting for it. */
  load(uid: string): number;
}

/**
 * What became of a task that was handed to a worker. `done`: it returned. `failed`: it threw. `rejected`: the worker did
 * not run it. `lost`: the worker vanished with it. `cancelled`: the caller no longer waits, or its time was over.
 */
export interface DispatchOutcome {
  readonly status: "done" | "failed" | "rejected" | "lost" | "cancelled";
}

/** Decides which worker gets a task. One instance may serve many pools, and keeps its state for each context. */
export interface LoadBalancerLike {
  /**
   * Yields uids in the order to try them, each at most once. The pool takes the first that has room, and asks for the
   * next when a worker has none, cannot be reached or refuses. The call rejects with the error that it throws, and with
   * `NoWorkersAvailable` when no worker that it yields can take the task.
   */
  delegate(task: TaskInfo, context: LoadBalancerContextView): Iterable<string> | AsyncIterable<string>;
  /**
   * Whether the task waits for a worker that was offered and has no room, instead of going to the next one: for tasks
   * that belong to one worker. Default: no task does.
   */
  waits?(task: TaskInfo): boolean;
  /** Called once each time that a worker is done with a task: for balancers that keep score. */
  settled?(uid: string, outcome: DispatchOutcome, context: LoadBalancerContextView): void;
  /**
   * True when any of the least loaded workers is right. The pool then sends waiting tasks in runs to the least loaded
   * workers without asking, which is many times faster. Default: false.
   */
  readonly levels?: boolean;
}

/** Tells whether `value` has the shape of a `LoadBalancerLike`. */
export function isLoadBalancer(value: unknown): value is LoadBalancerLike {
  return typeof value === "object" && value !== null && "delegate" in value && typeof value.delegate === "function";
}
