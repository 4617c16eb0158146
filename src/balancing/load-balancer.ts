import type { WorkerMetadata } from "../discovery/index.ts";

/** What a balancer knows of a task. */
export interface TaskInfo {
  /** Names the task in the calling process. */
  readonly sequence: number;
  /** The routine's name. */
  readonly name: string;
  /** Affinity key of the call, if it has one. */
  readonly key: string | undefined;
}

/** The workers of one pool, as a balancer sees them. */
export interface LoadBalancerContextView {
  /** Workers that can be chosen, by uid, in the order in which they were found. */
  readonly workers: ReadonlyMap<string, WorkerMetadata>;
  /** Tasks that this pool has at a worker and that have not ended. */
  load(uid: string): number;
}

/** What became of a task that was handed to a worker. */
export interface DispatchOutcome {
  readonly status: "done" | "failed" | "rejected" | "lost";
}

/** Decides which worker gets a task. One instance may serve many pools: what it keeps, it keeps for each context. */
export interface LoadBalancerLike {
  /** Yields uids in the order to try them. The pool takes the first that has room, and goes on when one refuses. */
  delegate(task: TaskInfo, context: LoadBalancerContextView): Iterable<string> | AsyncIterable<string>;
  /** Feedback, for balancers that keep score. */
  settled?(uid: string, outcome: DispatchOutcome): void;
  /**
   * True when any worker will do that has as little to do as any other. The pool then hands out waiting tasks in runs
   * to the least loaded workers, without asking for each one: many times faster. Default: false.
   */
  readonly levels?: boolean;
}

export function isLoadBalancer(value: unknown): value is LoadBalancerLike {
  return typeof value === "object" && value !== null && "delegate" in value && typeof value.delegate === "function";
}
