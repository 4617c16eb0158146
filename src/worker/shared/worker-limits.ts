import { type Check, must } from "../../checks/index.ts";
import { type CompleteLimits, type ConnectionLimits, DEFAULT_LIMITS, MEMORY_BYTES } from "../../wire/index.ts";

/**
 * What callers may take of a worker. Crossing a limit of a connection ends that connection with RESOURCE_EXHAUSTED, and
 * nothing else. `Infinity` for no limit.
 */
export interface WorkerLimits extends ConnectionLimits {
  /**
   * Bytes of payloads of which pieces are missing, of all callers together. Beyond it the caller loses its connection whose
   * payload comes slowest. Default: 2 GiB, or half of the memory.
   */
  readonly maxUnfinishedTotal?: number;
  /** Milliseconds that a caller with such payloads may send no piece of any. Default: 60,000. */
  readonly unfinishedTimeout?: number;
  /** Connections at once, beyond which new ones are dropped. Default: 1,000. */
  readonly maxConnections?: number;
  /** Sessions that one connection may have at once, for each task thread; a caller needs one. Beyond it that call ends. Default: 4. */
  readonly maxSessions?: number;
  /** Bytes of metadata of a call, 32 for each field besides its text. Beyond it that call ends. Default: 16 KiB. */
  readonly maxMetadataBytes?: number;
  /** Milliseconds in which a new connection must speak TLS and HTTP/2. Default: 10,000. */
  readonly handshakeTimeout?: number;
  /** Milliseconds in which a call must send its first message. Default: 10,000. */
  readonly requestTimeout?: number;
  /** Milliseconds without a call after which a connection is closed. Default: 300,000. */
  readonly idleTimeout?: number;
  /**
   * Milliseconds that a caller may leave a question unanswered whether it is there. Beyond, it counts as gone, and its tasks
   * are cancelled. A worker asks every `channel.keepaliveInterval` milliseconds, 60,000 by default. Default:
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

/** What each limit must be. */
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

/** The limits that hold where these are given. */
export function completeLimits(
  limits: { readonly [L in keyof WorkerLimits]: number | undefined },
): CompleteWorkerLimits {
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  // JSON has no Infinity.
  const finite = given.map(([name, value]) => [name, Math.min(Number(value), Number.MAX_SAFE_INTEGER)] as const);
  return { ...DEFAULTS, ...(Object.fromEntries(finite) as WorkerLimits) };
}
