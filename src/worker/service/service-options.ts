import type { ResourceLimits } from "node:worker_threads";
import type { WorkerDescription } from "../../discovery/index.ts";
import type { ProcessCredentials, ThreadConfig } from "../shared/index.ts";

/** Where fewer tasks may be under way, the calls of packs could be too many. */
const LEAST_LIVE_TASKS_FOR_PACKS = 10_000;

/** How a service is set up. */
export interface WorkerServiceOptions {
  readonly uid: string;
  /** What it tells of itself. */
  readonly about: WorkerDescription;
  readonly threads: number;
  /** Tasks that may run at once in all threads; 0 for no limit. */
  readonly maxConcurrency: number;
  /** Sessions that one connection may have at once, for each task thread. */
  readonly maxSessions: number;
  readonly thread: Omit<ThreadConfig, "board" | "uid" | "lane" | "permits" | "unfinished" | "laneSocket">;
  readonly resourceLimits: ResourceLimits | undefined;
  /** What tasks call other workers with; nothing if those use no TLS. */
  readonly credentials: ProcessCredentials | undefined;
  /** Called when a `Stop` request comes in; the request is answered when this resolves. */
  readonly stopRequested: (timeout: number) => Promise<void>;
  /** Called when a task thread has ended and no other can take its place. */
  readonly broken: (reason: string) => void;
}

/** Whether a worker takes packs. Their calls all begin at once, and hooks are asked about each call. */
export function takesPacks({ maxConcurrency, thread }: WorkerServiceOptions): boolean {
  const { authorize, backpressure, limits } = thread;
  const asksHooks = authorize !== undefined || backpressure !== undefined;
  return maxConcurrency === 0 && !asksHooks && limits.maxLiveTasks >= LEAST_LIVE_TASKS_FOR_PACKS;
}

/** There is no use for more threads than tasks may run at once. */
export function laneCount({ threads, maxConcurrency }: WorkerServiceOptions): number {
  return maxConcurrency === 0 ? threads : Math.min(threads, maxConcurrency);
}
