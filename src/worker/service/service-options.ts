import type { ResourceLimits } from "node:worker_threads";
import type { WorkerDescription } from "../../discovery/index.ts";
import { PREFIX_BYTES } from "../../grpc/index.ts";
import { BatchWriter, ENCODINGS, LANGUAGES, PROTOCOL_VERSION, type Welcome, writeWelcome } from "../../wire/index.ts";
import type { ProcessCredentials, ThreadConfig } from "../shared/index.ts";

/** With a smaller limit on live tasks, the calls of a pack could exceed it. */
const LEAST_LIVE_TASKS_FOR_PACKS = 10_000;

/** How a service is set up. */
export interface WorkerServiceOptions {
  readonly uid: string;
  /** How the worker describes itself. */
  readonly about: WorkerDescription;
  readonly threads: number;
  /** Tasks that may run at once in all threads; 0 for no limit. */
  readonly maxConcurrency: number;
  /** Sessions that one connection may have at once, for each task thread. */
  readonly maxSessions: number;
  readonly thread: Omit<ThreadConfig, "board" | "uid" | "lane" | "permits" | "unfinished" | "laneSocket">;
  readonly resourceLimits: ResourceLimits | undefined;
  /** The credentials with which tasks call other workers; undefined without TLS. */
  readonly credentials: ProcessCredentials | undefined;
  /** Called when a `Stop` request comes in; the answer is sent when this resolves. */
  readonly stopRequested: (timeout: number) => Promise<void>;
  /** Called when a task thread has ended and cannot be replaced. */
  readonly broken: (reason: string) => void;
}

/**
 * Whether a worker takes packs. Not with a limit on concurrency, because all calls of a pack begin at once, and not
 * with hooks, because they decide about single calls.
 */
function takesPacks({ maxConcurrency, thread }: WorkerServiceOptions): boolean {
  const { authorize, backpressure, limits } = thread;
  const asksHooks = authorize !== undefined || backpressure !== undefined;
  return maxConcurrency === 0 && !asksHooks && limits.maxLiveTasks >= LEAST_LIVE_TASKS_FOR_PACKS;
}

/** The number of task threads. More threads than tasks that may run at once would be useless. */
export function laneCount({ threads, maxConcurrency }: WorkerServiceOptions): number {
  return maxConcurrency === 0 ? threads : Math.min(threads, maxConcurrency);
}

/** The first message of a session, which says what the worker can do. `facts`: what depends on the session. */
export function welcomeMessage(
  options: WorkerServiceOptions,
  facts: Pick<Welcome, "lanes" | "sharesFiles" | "laneSocket" | "laneTicket">,
): Buffer {
  const writer = new BatchWriter(PREFIX_BYTES);
  writeWelcome(writer, {
    version: PROTOCOL_VERSION,
    workerUid: options.uid,
    maxConcurrency: options.maxConcurrency,
    languages: LANGUAGES,
    encodings: ENCODINGS,
    takesPacks: takesPacks(options),
    ...facts,
  });
  return writer.take();
}
