import { copyPayload, type EncodedValue, PayloadParts } from "../values/index.ts";
import { BatchWriter } from "./batch-writer.ts";
import { BulkQueue } from "./bulk-queue.ts";
import { writeFrame } from "./frame-writer.ts";
import { type PayloadPlace, type PayloadStore, STORE_FROM_BYTES, storePayload } from "./payload.ts";
import { splitMessage } from "./split-message.ts";

/** Payloads up to this size travel inside their frame. */
export const INLINE_LIMIT_BYTES = 256 * 1024;
const CHUNK_BYTES = 128 * 1024;
const BATCH_LIMIT_BYTES = 256 * 1024;
/** No message is larger: every gRPC library accepts messages of this size. */
const MESSAGE_LIMIT_BYTES = 4 * 1024 * 1024 - 1024;
/** Smallest limit on messages that a peer may set: any frame with a small payload fits. */
export const LEAST_MESSAGE_BYTES = 128 * 1024;

/** Where finished messages go. */
export interface MessageSink {
  /** Sends a message, headroom included. False: hold back chunks until `Outbox.drained` is called. */
  send(message: Buffer): boolean;
}

/**
 * The sending half of a session: collects frames into batches, sends a batch when it is due, and cuts large payloads
 * into chunks that let everything else go first.
 */
export class Outbox {
  readonly writer: BatchWriter;
  /** Set when the peer shares it with us. */
  store: PayloadStore | undefined;
  /** Set when the peer wants messages with frames of one kind each. */
  oneKind = false;
  #limit = MESSAGE_LIMIT_BYTES;
  #inlineBytes = INLINE_LIMIT_BYTES;
  #chunkBytes = CHUNK_BYTES;
  readonly #sink: MessageSink;
  readonly #chunkFrame: number;
  readonly #bulks = new BulkQueue();
  /** Writes that wait behind a payload in chunks, by id: frames of one id keep their order. */
  readonly #behind = new Map<number, (() => void)[]>();
  #writable = true;
  #batch = 0;
  #messages = 0;
  #scheduled = false;
  #pumping = false;
  #closed = false;
  readonly #flush = (): void => this.flush();

  constructor(sink: MessageSink, headroom: number, chunkFrame: number) {
    this.#sink = sink;
    this.#chunkFrame = chunkFrame;
    this.writer = new BatchWriter(headroom);
  }

  /** Limits further messages to this many bytes. */
  limitMessages(bytes: number): void {
    const limit = Math.max(bytes, LEAST_MESSAGE_BYTES);
    this.#limit = Math.min(MESSAGE_LIMIT_BYTES, limit);
    this.#inlineBytes = Math.min(INLINE_LIMIT_BYTES, limit / 2);
    this.#chunkBytes = Math.min(CHUNK_BYTES, limit / 2);
  }

  /** Payloads up to this size travel inside their frame. */
  get inlineBytes(): number {
    return this.#inlineBytes;
  }

  /** Sends the batch after the current work: at once if the session is `idle`, else after more frames could join. */
  schedule(idle: boolean): void {
    if (this.#scheduled) {
      if (this.writer.size > BATCH_LIMIT_BYTES) this.flush();
      return;
    }
    this.#scheduled = true;
    if (idle) process.nextTick(this.#flush);
    else setImmediate(this.#flush);
  }

  /** The number of the batch that is being written. */
  get batch(): number {
    return this.#batch;
  }

  /** The number of the message that the batch becomes, or the first of them; from 1. */
  get nextMessage(): number {
    return this.#messages + 1;
  }

  /** Whether nothing waits to be sent. */
  get isEmpty(): boolean {
    return this.writer.size === 0 && this.#bulks.size === 0;
  }

  /** Whether payloads wait to be sent in chunks. */
  get hasPayloads(): boolean {
    return this.#bulks.size > 0;
  }

  /** Bytes that wait to be sent in chunks, without the largest payload among them. */
  get queuedBytes(): number {
    return this.#bulks.queuedBytes;
  }

  /** Sends the batch now. */
  flush(): void {
    this.#scheduled = false;
    this.#batch++;
    if (this.writer.size === 0 || this.#closed) return;
    const message = this.writer.take();
    const { headroom } = this.writer;
    if (!this.oneKind && message.length - headroom <= this.#limit) {
      this.#send(message);
      return;
    }
    for (const part of splitMessage(message, headroom, { limit: this.#limit, oneKind: this.oneKind })) this.#send(part);
  }

  #send(message: Buffer): void {
    this.#messages++;
    this.#writable = this.#sink.send(message) && this.#writable;
  }

  /** Whether frames of this id must wait behind a payload in chunks. */
  isHeldUp(id: number): boolean {
    return this.#behind.size > 0 && this.#behind.has(id);
  }

  /** Calls `write` when everything written for this id before has been sent. */
  inOrder(id: number, write: () => void): void {
    const behind = this.#behind.size > 0 ? this.#behind.get(id) : undefined;
    if (behind === undefined) write();
    else behind.push(write);
  }

  /**
   * Chooses how a payload travels: inside the frame, through the store, or in chunks. Calls `write` with the place to
   * name in the frame, at once or when it is its turn. The bytes may be reused when this returns, unless they are a
   * `Buffer` that is `kept` as it is.
   */
  place(id: number, payload: EncodedValue, write: (place: PayloadPlace) => void, kept?: "kept"): void {
    const behind = this.#behind.get(id);
    if (behind !== undefined) {
      const bytes = keep(payload, kept);
      behind.push(() => this.place(id, bytes, write, "kept"));
    } else if (payload.length <= (this.store === undefined ? this.#inlineBytes : STORE_FROM_BYTES)) {
      write({ bytes: payload instanceof PayloadParts ? copyPayload(payload) : payload });
    } else {
      const stored = this.store === undefined ? undefined : storePayload(this.store, payload);
      if (stored === undefined) this.#cut(id, keep(payload, kept), write);
      else write(stored.place);
    }
  }

  /** Like `place`, but never through the store, and without a copy: the payload must not change. */
  placeLasting(id: number, payload: EncodedValue, write: (place: PayloadPlace) => void): void {
    if (payload.length > this.#inlineBytes) this.#cut(id, payload, write);
    else write({ bytes: payload instanceof PayloadParts ? copyPayload(payload) : payload });
  }

  #cut(id: number, payload: EncodedValue, write: (place: PayloadPlace) => void): void {
    const total = payload.length;
    this.#behind.set(id, []);
    this.#bulks.add({
      id,
      payload,
      offset: 0,
      finish: () => {
        write({ chunked: total });
        this.#release(id);
      },
    });
    this.#startPump();
  }

  /** Drops the chunks of a payload that nobody wants any more, and the writes behind them. */
  abandon(id: number): void {
    this.#behind.delete(id);
    this.#bulks.remove(id);
  }

  /** The sink has room again. */
  drained(): void {
    this.#writable = true;
    this.#startPump();
  }

  close(): void {
    this.#closed = true;
    this.#bulks.clear();
    this.#behind.clear();
  }

  /** The payload has been sent: the writes behind it go on, up to the next payload in chunks. */
  #release(id: number): void {
    const behind = this.#behind.get(id) ?? [];
    this.#behind.delete(id);
    for (let next = behind.shift(); next !== undefined; next = behind.shift()) {
      next();
      const held = this.#behind.get(id);
      if (held === undefined) continue;
      held.push(...behind);
      return;
    }
  }

  #startPump(): void {
    if (this.#pumping || this.#bulks.size === 0 || this.#closed) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  /** Sends one chunk of each payload in turn, so that a huge one does not block the others. */
  #pump(): void {
    while (this.#writable && !this.#closed) {
      const bulk = this.#bulks.take();
      if (bulk === undefined) return;
      const { payload, offset } = bulk;
      const until = Math.min(offset + this.#chunkBytes, payload.length);
      const chunk = payload instanceof PayloadParts ? payload.slice(offset, until) : payload.subarray(offset, until);
      this.flush();
      writeFrame(this.writer, this.#chunkFrame, [
        undefined,
        bulk.id,
        chunk,
        bulk.offset === 0 ? bulk.payload.length : undefined,
      ]);
      bulk.offset += chunk.length;
      if (bulk.offset === bulk.payload.length) bulk.finish();
      else this.#bulks.putBack(bulk);
      this.flush();
    }
  }
}

/** The bytes, copied unless nobody changes them. */
function keep(payload: EncodedValue, kept: "kept" | undefined): Buffer {
  return kept !== undefined && Buffer.isBuffer(payload) ? payload : copyPayload(payload);
}
