import type { Http2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { expansionTurns, type MessageCompressor } from "./compression.ts";
import { Deframer } from "./deframer.ts";
import { HIGH_WATER_BYTES } from "./flow-control.ts";
import { PREFIX_BYTES } from "./frame-message.ts";
import { type GrpcStatus, StatusCode, statusFromError } from "./status.ts";

/** Handlers of both ends of a stream. */
export interface MessageHandlers {
  /**
   * One message, `buffer` from `start` to `end`; the buffer may be kept. If it throws, the stream ends: a
   * `GrpcStatusError` with its status, anything else with INTERNAL.
   */
  message(buffer: Buffer, start: number, end: number): void;
  /** The stream is writable again after `send` returned false. */
  drain?(): void;
}

/** True for a content type of gRPC with any message format. */
export function isGrpcContentType(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(?:$|[+;])/.test(contentType);
}

/** The common part of gRPC streams and lanes: sending, receiving and flow control of messages on a stream of bytes. */
export abstract class MessageStream<S extends Duplex = Http2Stream> {
  /** `open`: both directions; `ending`: this side sends no more messages; `closed`: over, handlers are not called any more. */
  protected state: "open" | "ending" | "closed" = "open";
  protected readonly bytes: S;
  /** Called when everything that was sent has been written. */
  protected onWritten: (() => void) | undefined;
  protected readonly deframer: Deframer;
  /** A whole message has arrived. */
  protected hasReceived = false;
  /** Set when messages are compressed on their way out. */
  protected compressor: MessageCompressor | undefined;
  #handlers: MessageHandlers | undefined;
  #blocked = false;
  #pauses = 0;

  protected constructor(bytes: S, maxMessageBytes: number) {
    this.bytes = bytes;
    this.deframer = new Deframer((buffer, start, end) => {
      this.hasReceived = true;
      this.#handlers?.message(buffer, start, end);
    }, maxMessageBytes);
    this.deframer.expanded = (bytes) =>
      expansionTurns.expanded(
        bytes,
        () => this.pause(),
        () => this.resume(),
      );
    // Each error is also reported when the stream closes, with its code.
    bytes.on("error", () => {});
    bytes.on("drain", () => this.#drained());
  }

  /** True while `send` is allowed and less than 128 KiB wait to be sent. */
  get writable(): boolean {
    return this.state === "open" && !this.#blocked;
  }

  /**
   * Sends one message without copying it: `framed` is 5 bytes, which this fills in, and then the message; it must not be changed
   * afterwards.
   *
   * @returns false when more than 128 KiB are waiting (`drain` follows) or the stream is over (the message is dropped).
   * @throws Error after this side ended its direction.
   */
  send(framed: Uint8Array): boolean {
    if (this.state !== "open") {
      if (this.state === "closed") return false;
      throw new Error("this side of the stream has ended: send every message before halfClose() or end()");
    }
    const compressed = this.compressor?.compress(framed);
    if (compressed !== undefined) return this.#write(compressed, 1);
    return this.#write(framed, 0);
  }

  /** `flag`: 1 for a compressed message. */
  #write(framed: Uint8Array, flag: number): boolean {
    const length = framed.length - PREFIX_BYTES;
    framed[0] = flag;
    framed[1] = length >>> 24;
    framed[2] = length >>> 16;
    framed[3] = length >>> 8;
    framed[4] = length;
    const stream = this.bytes;
    if (stream.write(framed, this.onWritten)) return true;
    if (stream.writableLength < HIGH_WATER_BYTES) return true;
    this.#blocked = true;
    return false;
  }

  /** Bytes that were sent and that the peer has not made room for. */
  get unreadBytes(): number {
    return this.bytes.writableLength;
  }

  /** Limits further messages to this many bytes, and never to more than the limit of the channel or server. */
  limitMessages(bytes: number): void {
    this.deframer.limitMessages(bytes);
  }

  /** `held` is told of long messages that are not whole: see `Deframer.held`. */
  watchHeld(held: (bytes: number, filled: number) => void): void {
    this.deframer.held = held;
  }

  /** Stops reading, so that the peer can send no more than the flow-control window. No further message arrives. */
  pause(): void {
    if (this.#pauses++ > 0) return;
    this.bytes.pause();
    this.deframer.hold();
  }

  /** Reads again once it was called as often as `pause`. Messages that had been read before arrive at once. */
  resume(): void {
    if (this.#pauses === 0 || --this.#pauses > 0 || this.state === "closed") return;
    this.#deliver(() => this.deframer.release());
    // A message may have been the reason for another pause.
    if (this.isPaused) return;
    this.released();
    this.bytes.resume();
  }

  /** The messages that `pause` held back have been delivered. */
  protected released(): void {}

  /** Whether this side has stopped reading. */
  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  /** An error in the peer's messages ends the stream. */
  #deliver(take: () => void): void {
    try {
      take();
    } catch (error) {
      this.fail(statusFromError(error));
    }
  }

  /** Ends the stream because of a fault on this side or in the peer's messages. */
  protected abstract fail(status: GrpcStatus): void;

  /** Starts reading. */
  protected startReading(handlers: MessageHandlers): void {
    this.#handlers = handlers;
    this.bytes.on("data", (chunk: Buffer) => {
      if (this.state !== "closed") this.#deliver(() => this.deframer.push(chunk));
    });
  }

  /** The status for a peer that ended its direction inside a message. */
  protected get truncation(): GrpcStatus | undefined {
    if (!this.deframer.midMessage) return undefined;
    return { code: StatusCode.INTERNAL, message: "the peer ended the stream inside a message" };
  }

  #drained(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    if (this.state === "open") this.#handlers?.drain?.();
  }
}
