import { acceptedEncodings, type Compression, expandMessage } from "./compression.ts";
import { PREFIX_BYTES } from "./frame-message.ts";
import { GrpcStatusError, StatusCode } from "./status.ts";

/** Default for the largest message accepted, in bytes: 64 MiB. */
export const DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** A longer message gets its memory as its bytes arrive, so that a claimed length alone cannot make the process grow. */
const TRUSTED_BYTES = 1024 * 1024;

/** Messages up to this size are not told of while they are not whole. */
const UNTOLD_BYTES = 64 * 1024;

/**
 * Receives one message: `buffer` from `start` to `end`. The receiver may keep the buffer. When `start` is 0 and the buffer
 * spans its whole `ArrayBuffer`, that `ArrayBuffer` belongs to the receiver, who may transfer it.
 */
export type MessageReader = (buffer: Buffer, start: number, end: number) => void;

/**
 * Cuts a byte stream into gRPC messages. A message that lies within one chunk is handed on in place; any other is
 * collected in a new buffer, each byte copied once (beyond 1 MiB at most twice on average).
 */
export class Deframer {
  /** The peer's `grpc-encoding`; decides how compressed messages are handled. */
  encoding: string | undefined;
  /** The compression that this side accepts. */
  accepts: Compression | undefined;

  /** Told of each message that was expanded, before it is delivered. */
  expanded: (bytes: number) => void = () => undefined;

  /**
   * Told of each piece of a message of more than 64 KiB that is not whole: how many more bytes of memory it takes now, and how
   * many bytes have come. Fewer: it is whole, or dropped.
   */
  held: ((bytes: number, filled: number) => void) | undefined;

  readonly #sink: MessageReader;
  readonly #maxMessageBytes: number;
  /** The largest message that is accepted at present, in bytes. */
  #limit: number;
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixFilled = 0;
  #message: Buffer | undefined;
  #messageFilled = 0;
  #messageBytes = 0;
  /** Bytes of memory for it that were told of. */
  #told = 0;
  #isCompressed = false;
  #isHeld = false;
  /** The rest of the chunk in which delivery was held. */
  #rest: Buffer | undefined;
  #stopped = false;

  constructor(sink: MessageReader, maxMessageBytes: number = DEFAULT_MAX_MESSAGE_BYTES) {
    this.#sink = sink;
    this.#maxMessageBytes = maxMessageBytes;
    this.#limit = maxMessageBytes;
  }

  /** True while a message has begun and is not complete. */
  get midMessage(): boolean {
    return this.#prefixFilled > 0 || this.#message !== undefined;
  }

  /** Limits further messages to this many bytes, and never to more than the limit of the constructor. */
  limitMessages(bytes: number): void {
    this.#limit = Math.min(bytes, this.#maxMessageBytes);
  }

  /** Delivers nothing from here on, not even the rest of a chunk that is being pushed. */
  stop(): void {
    this.#stopped = true;
    this.#message = undefined;
    this.#rest = undefined;
    this.#letGo();
  }

  /** Delivers nothing until `release`, not even the rest of a chunk that is being pushed: a chunk can hold thousands. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Delivers the held messages. Delivery may be held again meanwhile. Throws like `push`. */
  release(): void {
    this.#isHeld = false;
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) this.push(rest);
  }

  /** Whether bytes wait for `release`. */
  get holdsBytes(): boolean {
    return this.#rest !== undefined;
  }

  /**
   * Takes the next bytes and delivers each message that they complete.
   *
   * @throws GrpcStatusError RESOURCE_EXHAUSTED for a message above the limit, UNIMPLEMENTED or INTERNAL for a compressed one.
   */
  push(chunk: Buffer): void {
    if (this.#stopped) return;
    if (this.#isHeld) {
      this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
      return;
    }
    let at = 0;
    if (this.#message !== undefined) at = this.#fill(this.#message, chunk, 0);
    else if (this.#prefixFilled > 0) at = this.#completePrefix(chunk);
    while (!this.#stopped && !this.#isHeld && chunk.length - at >= PREFIX_BYTES) {
      const length = this.#readPrefix(chunk, at);
      const start = at + PREFIX_BYTES;
      if (chunk.length - start < length) {
        this.#begin(length, chunk, start);
        return;
      }
      at = start + length;
      this.#deliver(chunk, start, at);
    }
    if (this.#stopped || at >= chunk.length) return;
    if (this.#isHeld) {
      this.#rest = chunk.subarray(at);
      return;
    }
    chunk.copy(this.#prefix, 0, at);
    this.#prefixFilled = chunk.length - at;
  }

  #completePrefix(chunk: Buffer): number {
    const copied = chunk.copy(this.#prefix, this.#prefixFilled, 0);
    this.#prefixFilled += copied;
    if (this.#prefixFilled < PREFIX_BYTES) return copied;
    this.#prefixFilled = 0;
    const length = this.#readPrefix(this.#prefix, 0);
    if (chunk.length - copied < length) return this.#begin(length, chunk, copied);
    this.#deliver(chunk, copied, copied + length);
    return copied + length;
  }

  #begin(length: number, chunk: Buffer, from: number): number {
    const message = Buffer.allocUnsafe(Math.min(length, TRUSTED_BYTES));
    this.#message = message;
    this.#messageBytes = length;
    this.#messageFilled = 0;
    return this.#fill(message, chunk, from);
  }

  #fill(message: Buffer, chunk: Buffer, from: number): number {
    const taken = Math.min(chunk.length - from, this.#messageBytes - this.#messageFilled);
    const filled = this.#messageFilled + taken;
    if (filled > message.length) message = this.#grow(message, filled);
    chunk.copy(message, this.#messageFilled, from, from + taken);
    this.#messageFilled = filled;
    if (filled === this.#messageBytes) {
      this.#message = undefined;
      this.#letGo();
      this.#deliver(message, 0, filled);
    } else if (this.#messageBytes > UNTOLD_BYTES && this.held !== undefined) {
      const more = message.length - this.#told;
      this.#told = message.length;
      this.held(more, filled);
    }
    return from + taken;
  }

  #letGo(): void {
    if (this.#told === 0) return;
    const told = this.#told;
    this.#told = 0;
    this.held?.(-told, 0);
  }

  #deliver(buffer: Buffer, start: number, end: number): void {
    if (!this.#isCompressed) return this.#sink(buffer, start, end);
    const message = expandMessage(buffer.subarray(start, end), this.#limit);
    this.expanded(message.length);
    this.#sink(message, 0, message.length);
  }

  #grow(message: Buffer, needed: number): Buffer {
    const grown = Buffer.allocUnsafe(Math.min(this.#messageBytes, Math.max(needed, message.length * 2)));
    message.copy(grown, 0, 0, this.#messageFilled);
    this.#message = grown;
    return grown;
  }

  #readPrefix(bytes: Buffer, at: number): number {
    const flag = bytes[at];
    this.#isCompressed = flag === 1 && this.accepts !== undefined && this.accepts === this.encoding;
    if (flag !== 0 && !this.#isCompressed) throw this.#refuseFlag(flag ?? 0);
    const length = bytes.readUInt32BE(at + 1);
    if (length > this.#limit) {
      throw new GrpcStatusError(
        StatusCode.RESOURCE_EXHAUSTED,
        `a message of ${length} bytes is larger than the limit of ${this.#limit} bytes (maxMessageBytes). Send it in parts or raise the limit.`,
      );
    }
    return length;
  }

  #refuseFlag(flag: number): GrpcStatusError {
    const encoding = this.encoding;
    if (flag === 1 && encoding !== undefined && encoding !== "identity") {
      return new GrpcStatusError(
        StatusCode.UNIMPLEMENTED,
        `messages compressed with "${encoding}" are not accepted, only "${acceptedEncodings(this.accepts)}". Turn compression off at the sender.`,
      );
    }
    return new GrpcStatusError(
      StatusCode.INTERNAL,
      flag === 1
        ? "a message is flagged as compressed although no grpc-encoding was announced"
        : `a message starts with the flag ${flag}, but gRPC has only 0 and 1. The peer does not speak gRPC or the stream is damaged.`,
    );
  }
}
