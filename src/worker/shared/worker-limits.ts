import { type Check, must } from "../../checks/index.ts";
import { type CompleteLimits, type ConnectionLimits, DEFAULT_LIMITS, MEMORY_BYTES } from "../../wire/index.ts";

/**
 * How much of a worker callers may use. Exceeding a limit of a connection ends only that connection, with
 * RESOURCE_EXHAUSTED. `Infinity` for no limit.
 */
export interface WorkerLimits extends ConnectionLimits {
  /**
   * Bytes of incomplete payloads, and of incomplete messages of more than 64 KiB, of all callers together. Beyond it
   * the caller loses its connection that brings one slowest, or else the one that has just crossed the limit. Default: 2 GiB,
   * or half of the memory.
   */
  readonly maxUnfinishedTotal?: number;
  /** Milliseconds that a caller may send no piece of such a payload or message. Default: 60,000. */
  readonly unfinishedTimeout?: number;
  /** Connections at once, beyond which new ones are dropped. Default: 1,000. */
  readonly maxConnections?: number;
  /** Sessions that one connection may have at once, for each task thread; a caller needs one. Beyond it that call ends. Default: 4. */
  readonly maxSessions?: number;
  /** Bytes of metadata of a call, each field counts for its text and 32 more. Beyond it that call ends. Default: 16 KiB. */
  readonly maxMetadataBytes?: number;
  /** Milliseconds in which a new connection must speak TLS and HTTP/2. Default: 10,000. */
  readonly handshakeTimeout?: number;
  /** Milliseconds in which a call must send its first message. Default: 10,000. */
  readonly requestTimeout?: number;
  /** Milliseconds without a call after which a connection is closed. Default: 300,000. */
  readonly idleTimeout?: number;
  /**
   * Milliseconds that a caller may leave a ping unanswered. After that it counts as gone, and its tasks are cancelled.
   * A worker sends a ping every `channel.keepaliveInterval` milliseconds, 60,000 by default. Default:
   * `channel.keepaliveTimeout` if that is given, else 240,000.
   */
  readonly keepaliveTimeout?: number;
}

/** The limits of a worker, each with a value that JSON can carry. */
export type CompleteWorkerLimits = CompleteLimits & Required<WorkerLimits>;

const DEFAULTS: CompleteWorkerLimits = {
  ...DEFAULT_LIMITS,
  maxUnfinishedTotal: Math.min(2 ** 31, Math.floor(MEMORY_BYTES / 2)),
  unfinishedTimeout: 60_000,
  maxConnections: 1000,
  maxSessions: 4,
  maxMetadataBytes: 16 * 1024,
  handshakeTimeout: 10_000,
  requestTimeout: 10_000,
  idleTimeout: 300_000,
  keepaliveTimeout: 240_000,
};

/** The check of each limit. */
export const LIMIT_CHECKS: Readonly<Record<keyof WorkerLimits, Check>> = {
  maxLiveTasks: must.limit(1),
  maxUnreadBytes: must.limit(1),
  stallTimeout: must.duration,
  maxUnfinishedBytes: must.limit(1),
  maxUnfinishedPayloads: must.limit(1),
  maxUnfinishedTotal: must.limit(1),
  unfinishedTimeout: must.duration,
  maxAnnouncements: must.limit(1),
  maxAnnouncedBytes: must.limit(1),
  maxWaitingBytes: must.limit(1),
  maxEarlyFrames: must.limit(1),
  maxCredit: must.limit(1),
  maxConnections: must.limit(1),
  maxSessions: must.limit(1),
  maxMetadataBytes: must.limit(1),
  handshakeTimeout: must.duration,
  requestTimeout: must.duration,
  idleTimeout: must.duration,
  keepaliveTimeout: must.duration,
};

/** The complete limits, with defaults for those that are not given. */
export function completeLimits(
  limits: { readonly [L in keyof WorkerLimits]: number | undefined },
): CompleteWorkerLimits {
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  // JSON has no Infinity.
  const finite = given.map(([name, value]) => [name, Math.min(Number(value), Number.MAX_SAFE_INTEGER)] as const);
  return { ...DEFAULTS, ...(Object.fromEntries(finite) as WorkerLimits) };
}
