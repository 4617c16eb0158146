import { LEAST_MESSAGE_BYTES } from "../wire/index.ts";

/** How callers should talk to a worker; it advertises them. Absent fields mean the caller's defaults. */
export interface ChannelOptions {
  /** Largest gRPC message it takes, in bytes; 131,072 at least. Default: 67,108,864. Larger payloads are sent in pieces. */
  readonly maxMessageBytes?: number;
  /** Time between keepalive pings, in milliseconds; `Infinity` for none. Both sides of a connection ping. */
  readonly keepaliveInterval?: number;
  /** How long a ping may go unanswered before the connection counts as dead, in milliseconds. */
  readonly keepaliveTimeout?: number;
  /** Tasks it runs at once: what `WorkerOptions.maxConcurrency` says. */
  readonly maxConcurrency?: number;
  /** Task threads in its process: what `WorkerOptions.threads` says, and no more than `maxConcurrency`. */
  readonly threads?: number;
  /**
   * Compression of messages on TCP, in both directions. For networks below about 1 Gbit/s: on faster ones it costs more
   * time than it saves. Default: `"none"`.
   */
  readonly compression?: "none" | "gzip";
}

/** Channel options, or why a value is not valid channel options. */
export type ParsedChannelOptions =
  | { readonly channel: ChannelOptions; readonly reason?: undefined }
  | { readonly channel: undefined; readonly reason: string };

type MutableChannelOptions = { -readonly [K in keyof ChannelOptions]: ChannelOptions[K] };

const COUNTS = ["maxMessageBytes", "maxConcurrency", "threads"] as const;
const DURATIONS = ["keepaliveInterval", "keepaliveTimeout"] as const;

/**
 * Reads channel options from JSON. Never throws: for a malformed value it returns the reason. Unknown fields are
 * ignored.
 */
export function parseChannelOptions(value: unknown): ParsedChannelOptions {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return malformed("channel is not an object");
  const fields = new Map<string, unknown>(Object.entries(value));
  const channel: MutableChannelOptions = {};
  for (const name of COUNTS) {
    const count = fields.get(name);
    if (count === undefined) continue;
    if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 1) {
      return malformed(`channel.${name} is not a positive integer`);
    }
    channel[name] = count;
  }
  for (const name of DURATIONS) {
    const given = fields.get(name);
    if (given === undefined) continue;
    // JSON turns Infinity into null.
    const duration = given === null ? Number.POSITIVE_INFINITY : given;
    if (typeof duration !== "number" || !(duration >= 0)) {
      return malformed(`channel.${name} is not a number of milliseconds, zero or more`);
    }
    channel[name] = duration;
  }
  const compression = fields.get("compression");
  if (compression === "none" || compression === "gzip") channel.compression = compression;
  else if (compression !== undefined) return malformed('channel.compression is neither "none" nor "gzip"');
  if (channel.maxMessageBytes !== undefined && channel.maxMessageBytes < LEAST_MESSAGE_BYTES) {
    return malformed(`channel.maxMessageBytes is less than ${LEAST_MESSAGE_BYTES}`);
  }
  return { channel };
}

/** A copy with the fields in a fixed order, without those that are undefined: equal options give equal JSON. */
export function orderChannelOptions(options: ChannelOptions): ChannelOptions {
  const channel: MutableChannelOptions = {};
  for (const name of [...COUNTS, ...DURATIONS]) {
    const value = options[name];
    if (value !== undefined) channel[name] = value;
  }
  if (options.compression !== undefined) channel.compression = options.compression;
  return channel;
}

function malformed(reason: string): ParsedChannelOptions {
  return { channel: undefined, reason };
}
