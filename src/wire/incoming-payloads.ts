import { ChunkAssembly } from "./chunk-assembly.ts";
import { type CompleteLimits, DEFAULT_LIMITS } from "./connection-limits.ts";
import { type FrameReader, MalformedFrame } from "./frame-reader.ts";
import { Payload, type PayloadStore } from "./payload.ts";
import type { UnfinishedWatch } from "./unfinished.ts";

/** The fields of a message in which a frame says where its payload is. */
export interface PayloadFields {
  /** The payload itself. */
  readonly value: number;
  /** Its length, when it is elsewhere. */
  readonly chunked: number;
  /** Its name in the store. */
  readonly file: number;
}

/** Finds the payloads that a peer sends in a session, however they travel. */
export class IncomingPayloads {
  /** Set when the peer shares it with us. */
  store: PayloadStore | undefined;
  readonly #chunks: ChunkAssembly;

  /** `limits`: how much may be unfinished at once. `watch` is told of every change. */
  constructor(limits: CompleteLimits = DEFAULT_LIMITS, watch?: UnfinishedWatch) {
    this.#chunks = new ChunkAssembly(limits, watch);
  }

  /** Adds the current chunk frame of the reader. */
  addChunk(frame: FrameReader): void {
    this.#chunks.add(frame);
  }

  /**
   * The payload of the reader's current frame. Throws when it is not where the frame says.
   *
   * @param id - the task that the frame is about
   * @param absent - the payload when the frame names none
   */
  take(frame: FrameReader, id: number, fields: PayloadFields, absent = Payload.NONE): Payload {
    if (frame.has(fields.file)) {
      const length = frame.integer(fields.chunked);
      const name = frame.text(fields.file);
      const store = this.#storeOf(name);
      store.check(name, length);
      return Payload.inStore(store, name, length);
    }
    const chunked = frame.integer(fields.chunked);
    if (chunked > 0) return Payload.inMemory(this.#chunks.take(id, chunked), 0, chunked, true);
    if (!frame.has(fields.value)) return absent;
    return Payload.inMemory(frame.buffer, frame.start(fields.value), frame.end(fields.value));
  }

  /** Whether the payload of the reader's current frame is inside that frame. */
  isInline(frame: FrameReader, fields: PayloadFields): boolean {
    return frame.has(fields.value) && !frame.has(fields.chunked) && !frame.has(fields.file);
  }

  /** Frees the payload of a frame that nobody wants. */
  drop(frame: FrameReader, id: number, fields: PayloadFields): void {
    this.#chunks.drop(id);
    if (!frame.has(fields.file)) return;
    const name = frame.text(fields.file);
    this.#storeOf(name).drop(name, frame.integer(fields.chunked));
  }

  /** Forgets the chunks that have arrived for a task. */
  dropChunks(id: number): void {
    this.#chunks.drop(id);
  }

  /** Forgets all chunks. */
  clear(): void {
    this.#chunks.clear();
  }

  #storeOf(name: string): PayloadStore {
    if (this.store !== undefined) return this.store;
    throw new MalformedFrame(`the payload is in the file ${name}, but this session shares no files`);
  }
}
