import { errorCode, messageOf } from "../../checks/index.ts";
import { PREFIX_BYTES } from "./frame-message.ts";
import { GrpcStatusError, StatusCode } from "./status.ts";

/** How messages may be compressed. */
export type Compression = "gzip";

/**
 * Smaller messages are sent as they are. Measured with rows of a table on one core of two, gzip at its fastest: 1 KiB takes
 * 33 us to compress and expand and saves 600 bytes, which pays below 150 Mbit/s; 512 bytes below 90, 4 KiB below 400,
 * 128 KiB below 1,000 Mbit/s.
 */
export const COMPRESS_FROM_BYTES = 1024;
/**
 * Larger messages are sent as they are, and compressed ones that expand to more are refused: 4 MiB. A peer needs to
 * send only a thousandth of that, and expanding it blocks everything else.
 */
export const COMPRESS_UP_TO_BYTES = 4 * 1024 * 1024;
/** Bytes that all streams of a thread may expand before its event loop turns. */
const EXPANDED_PER_TURN_BYTES = 1024 * 1024;
/** A message must shrink to this share of its size, else it is sent as it is. */
const WORTHWHILE = 0.9;
/** After a message that did not shrink, this many are not compressed: they are most likely parts of the same payload. */
const PASSED_OVER = 16;

/** The value of `grpc-accept-encoding`. */
export function acceptedEncodings(compression: Compression | undefined): string {
  return compression === undefined ? "identity" : `identity,${compression}`;
}

/** Whether a peer with this `grpc-accept-encoding` accepts such messages. */
export function isAccepted(compression: Compression, header: unknown): boolean {
  return typeof header === "string" && header.split(",").some((encoding) => encoding.trim() === compression);
}

/** Compresses messages where that is worthwhile. */
export class MessageCompressor {
  #passOver = 0;

  /** The message, with room for its prefix in front as `framed` has, or undefined when it should be sent as it is. */
  compress(framed: Uint8Array): Buffer | undefined {
    const length = framed.length - PREFIX_BYTES;
    if (length < COMPRESS_FROM_BYTES || length > COMPRESS_UP_TO_BYTES) return undefined;
    if (this.#passOver > 0) {
      this.#passOver--;
      return undefined;
    }
    const { constants, gzipSync } = process.getBuiltinModule("node:zlib");
    const compressed = gzipSync(framed.subarray(PREFIX_BYTES), { level: constants.Z_BEST_SPEED });
    if (compressed.length > length * WORTHWHILE) {
      this.#passOver = PASSED_OVER;
      return undefined;
    }
    const message = Buffer.allocUnsafe(PREFIX_BYTES + compressed.length);
    compressed.copy(message, PREFIX_BYTES);
    return message;
  }
}

/**
 * Expands a message.
 *
 * @throws GrpcStatusError RESOURCE_EXHAUSTED when it would be larger than the limit, INTERNAL when it is damaged
 */
export function expandMessage(message: Uint8Array, maxMessageBytes: number): Buffer {
  const limit = Math.min(maxMessageBytes, COMPRESS_UP_TO_BYTES);
  try {
    return process.getBuiltinModule("node:zlib").gunzipSync(message, { maxOutputLength: limit });
  } catch (error) {
    if (errorCode(error) === "ERR_BUFFER_TOO_LARGE") {
      throw new GrpcStatusError(
        StatusCode.RESOURCE_EXHAUSTED,
        `a compressed message is larger than the limit of ${limit} bytes. Send it in parts or without compression.`,
      );
    }
    const reason = messageOf(error);
    throw new GrpcStatusError(StatusCode.INTERNAL, `a compressed message cannot be expanded: ${reason}`);
  }
}

/**
 * Makes the streams of a thread take turns in expanding messages. Otherwise a peer that sends little could keep the
 * thread busy: messages expand to up to a thousand times their size.
 */
class ExpansionTurns {
  #bytes = 0;
  #isScheduled = false;
  readonly #waiting: (() => void)[] = [];

  /** A message was expanded. Calls `wait` when the stream should expand no more until `go` is called. */
  expanded(bytes: number, wait: () => void, go: () => void): void {
    this.#bytes += bytes;
    this.#schedule();
    if (this.#bytes < EXPANDED_PER_TURN_BYTES) return;
    wait();
    this.#waiting.push(go);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    this.#bytes = 0;
    while (this.#waiting.length > 0 && this.#bytes < EXPANDED_PER_TURN_BYTES) this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#schedule();
  }
}

/** The turns of all streams of this thread. */
export const expansionTurns = new ExpansionTurns();
