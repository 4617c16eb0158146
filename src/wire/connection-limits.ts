import { totalmem } from "node:os";

const MIB = 1024 * 1024;

/** What one peer may use of this process through one connection. Exceeding a limit ends that connection, and nothing else. */
export interface ConnectionLimits {
  /** Tasks of a caller that have not ended, in each task thread. Default: 100,000. */
  readonly maxLiveTasks?: number;
  /**
   * Bytes of results that a caller has not read, without the largest one. Beyond that, the worker starts none of its
   * further tasks until it reads. Default: 64 MiB.
   */
  readonly maxUnreadBytes?: number;
  /** How long a caller at `maxUnreadBytes` may read nothing, in milliseconds. Default: 30,000. */
  readonly stallTimeout?: number;
  /** Bytes of incomplete payloads. A single payload cannot be larger. Default: 1.25 GiB, or half of the memory. */
  readonly maxUnfinishedBytes?: number;
  /** Number of incomplete payloads. Default: 1,024. */
  readonly maxUnfinishedPayloads?: number;
  /** Routines, pieces of code and pools that were announced and not replaced. Default: 100,000. */
  readonly maxAnnouncements?: number;
  /** Bytes of these announcements. Default: 256 MiB. */
  readonly maxAnnouncedBytes?: number;
  /**
   * Bytes of arguments, and of values for generators, of tasks that wait for code, shared values or their turn, without
   * the largest one. Default: 256 MiB.
   */
  readonly maxWaitingBytes?: number;
  /** Steps and aborted signals that came before the generator or the task that they are for. Default: 10,000. */
  readonly maxEarlyFrames?: number;
  /** Steps that one generator may be granted in advance. Default: 1,000,000. */
  readonly maxCredit?: number;
}

/** What a worker may use of its caller's process through one connection. Exceeding a limit ends that connection. */
export type CallerLimits = Pick<
  ConnectionLimits,
  "maxUnfinishedBytes" | "maxUnfinishedPayloads" | "maxAnnouncements" | "maxAnnouncedBytes"
>;

/** All limits, each with a value. */
export type CompleteLimits = Required<ConnectionLimits>;

/** Bytes of memory that this process may use: of the machine, or of its container. */
export const MEMORY_BYTES = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);

/** The default limits. */
export const DEFAULT_LIMITS: CompleteLimits = Object.freeze({
  maxLiveTasks: 100_000,
  maxUnreadBytes: 64 * MIB,
  stallTimeout: 30_000,
  maxUnfinishedBytes: Math.min(1280 * MIB, Math.floor(MEMORY_BYTES / 2)),
  maxUnfinishedPayloads: 1024,
  maxAnnouncements: 100_000,
  maxAnnouncedBytes: 256 * MIB,
  maxWaitingBytes: 256 * MIB,
  maxEarlyFrames: 10_000,
  maxCredit: 1_000_000,
});

/** A peer exceeded a limit. */
export class LimitExceeded extends Error {
  override name = "LimitExceeded";

  constructor(limit: string, value: number, what: string) {
    super(`more than ${value} ${what} (limits.${limit})`);
  }
}
