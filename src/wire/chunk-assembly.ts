import { constants } from "node:buffer";
import { type CompleteLimits, DEFAULT_LIMITS, LimitExceeded } from "./connection-limits.ts";
import type { FrameReader } from "./frame-reader.ts";
import { MalformedFrame } from "./frame-reader.ts";
import { ChunkField } from "./request-frames.ts";
import { Progress, type Unfinished, type UnfinishedWatch } from "./unfinished.ts";

/** Fewest bytes reserved for a payload. */
const FIRST_BYTES = 64 * 1024;
/** At the start, this many times the bytes that have arrived are reserved. */
const TRUST = 8;
/** Once this many bytes have arrived, the announced size is trusted. */
const TRUSTED_BYTES = 2 * 1024 * 1024;

/** Memory of this size and more comes from the system, which provides it as it is filled; less may have been in use before. */
const MAPPED_BYTES = 32 * 1024 * 1024;

interface Assembly {
  readonly total: number;
  buffer: Buffer;
  filled: number;
  /** How much memory it takes. */
  held: number;
  readonly progress: Progress;
}

/** Puts payloads together that arrive in pieces. What is reserved follows what has arrived, not what was announced. */
export class ChunkAssembly implements Unfinished {
  readonly #limits: Pick<CompleteLimits, "maxUnfinishedBytes" | "maxUnfinishedPayloads">;
  readonly #watch: UnfinishedWatch | undefined;
  readonly #open = new Map<number, Assembly>();
  #reserved = 0;
  /** Memory that unfinished payloads take. */
  #held = 0;
  /** Pieces that have arrived, of whatever payload. */
  #pieces = 0;

  constructor(
    limits: Pick<CompleteLimits, "maxUnfinishedBytes" | "maxUnfinishedPayloads"> = DEFAULT_LIMITS,
    watch?: UnfinishedWatch,
  ) {
    this.#limits = limits;
    this.#watch = watch;
  }

  get size(): number {
    return this.#open.size;
  }

  get pieces(): number {
    return this.#pieces;
  }

  get slowestAt(): number {
    let slowest = Number.POSITIVE_INFINITY;
    for (const { progress } of this.#open.values()) slowest = Math.min(slowest, progress.at);
    return slowest;
  }

  /** Adds the current chunk frame of the reader. Throws `LimitExceeded` when too much is unfinished. */
  add(frame: FrameReader): void {
    const id = frame.integer(ChunkField.id);
    const [start, end] = [frame.start(ChunkField.data), frame.end(ChunkField.data)];
    const assembly = this.#open.get(id) ?? this.#begin(id, frame.integer(ChunkField.total));
    const filled = assembly.filled + end - start;
    if (filled > assembly.total) {
      throw new MalformedFrame(`payload ${id} is longer than the ${assembly.total} bytes announced`);
    }
    if (filled > assembly.buffer.length) this.#grow(assembly, filled);
    frame.buffer.copy(assembly.buffer, assembly.filled, start, end);
    assembly.filled = filled;
    this.#pieces++;
    assembly.progress.reached(filled);
    const held = assembly.buffer.length < MAPPED_BYTES ? assembly.buffer.length : filled;
    const more = held - assembly.held;
    assembly.held = held;
    this.#changed(more);
  }

  /** The whole payload. Throws unless it is complete. */
  take(id: number, length: number): Buffer {
    const assembly = this.#open.get(id);
    this.drop(id);
    if (assembly === undefined || assembly.filled !== length || assembly.total !== length) {
      throw new MalformedFrame(`payload ${id} has ${assembly?.filled ?? 0} of ${length} bytes`);
    }
    return assembly.buffer;
  }

  /** Drops the pieces of a payload. */
  drop(id: number): void {
    const assembly = this.#open.get(id);
    if (assembly === undefined) return;
    this.#open.delete(id);
    this.#reserved -= assembly.buffer.length;
    this.#changed(-assembly.held);
  }

  clear(): void {
    this.#open.clear();
    this.#reserved = 0;
    this.#changed(-this.#held);
  }

  #changed(bytes: number): void {
    this.#held += bytes;
    this.#watch?.changed(this, bytes);
  }

  #begin(id: number, total: number): Assembly {
    const { maxUnfinishedPayloads, maxUnfinishedBytes } = this.#limits;
    // First: how long a buffer can be depends on the version of Node.js, and what becomes of the caller must not.
    if (total > maxUnfinishedBytes) {
      throw new LimitExceeded("maxUnfinishedBytes", maxUnfinishedBytes, `bytes in one payload: it has ${total}`);
    }
    if (total === 0 || total > constants.MAX_LENGTH) {
      throw new MalformedFrame(`payload ${id} of ${total} bytes is not between 1 and ${constants.MAX_LENGTH}`);
    }
    if (this.#open.size >= maxUnfinishedPayloads) {
      throw new LimitExceeded("maxUnfinishedPayloads", maxUnfinishedPayloads, "incomplete payloads");
    }
    const assembly = { total, buffer: Buffer.alloc(0), filled: 0, held: 0, progress: new Progress() };
    this.#open.set(id, assembly);
    return assembly;
  }

  #grow(assembly: Assembly, needed: number): void {
    const wanted = needed >= TRUSTED_BYTES ? assembly.total : Math.max(needed * TRUST, FIRST_BYTES);
    const size = Math.min(wanted, assembly.total);
    const { maxUnfinishedBytes } = this.#limits;
    this.#reserved += size - assembly.buffer.length;
    if (this.#reserved > maxUnfinishedBytes) throw tooMuchUnfinished(maxUnfinishedBytes);
    const grown = Buffer.allocUnsafeSlow(size);
    assembly.buffer.copy(grown, 0, 0, assembly.filled);
    assembly.buffer = grown;
  }
}

function tooMuchUnfinished(limit: number): LimitExceeded {
  return new LimitExceeded("maxUnfinishedBytes", limit, "bytes of incomplete payloads");
}
