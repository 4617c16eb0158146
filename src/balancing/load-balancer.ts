import type { WorkerMetadata } from "../discovery/index.ts";

/** What a balancer knows of a task. */
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
  /** Another number whenever a worker came, went or changed: tells when to renew what was made out of `workers`. */
  readonly version: number;
  /** Tasks that this process has at a worker, or has for it, and that have not ended. */
  load(uid: string): number;
}

/**
 * What became of a task that was handed to a worker. `done`: it returned. `failed`: it threw. `rejected`: the worker did
 * not run it. `lost`: the worker vanished with it. `cancelled`: the caller no longer waits, or its time was over.
 */
export interface DispatchOutcome {
  readonly status: "done" | "failed" | "rejected" | "lost" | "cancelled";
}

/** Decides which worker gets a task. One instance may serve many pools: what it keeps, it keeps for each context. */
export interface LoadBalancerLike {
  /**
   * Yields uids in the order to try them, each at most once. The pool takes the first that has room, and asks for the
   * next when one has none, cannot be reached or refuses. What it throws is what the call rejects with. A call for which
   * it yields nobody who could take it rejects with `NoWorkersAvailable`.
   */
  delegate(task: TaskInfo, context: LoadBalancerContextView): Iterable<string> | AsyncIterable<string>;
  /**
   * Whether the task waits for a worker that was offered and has no room, instead of going to the next one: for tasks
   * that belong to one worker. Default: no task does.
   */
  waits?(task: TaskInfo): boolean;
  /** Told once of every time that a task was handed to a worker, when that is over: for balancers that keep score. */
  settled?(uid: string, outcome: DispatchOutcome, context: LoadBalancerContextView): void;
  /**
   * True when any worker will do that has as little to do as any other. The pool then hands out waiting tasks in runs
   * to the least loaded workers, without asking for each one: many times faster. Default: false.
   */
  readonly levels?: boolean;
}

/** Tells whether `value` has the shape of a `LoadBalancerLike`. */
export function isLoadBalancer(value: unknown): value is LoadBalancerLike {
  return typeof value === "object" && value !== null && "delegate" in value && typeof value.delegate === "function";
}
