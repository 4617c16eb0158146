import { constants } from "node:buffer";
import { type CompleteLimits, DEFAULT_LIMITS, LimitExceeded } from "./connection-limits.ts";
import type { FrameReader } from "./frame-reader.ts";
import { MalformedFrame } from "./frame-reader.ts";
import { ChunkField } from "./request-frames.ts";

/** Least that is reserved for a payload. */
const FIRST_BYTES = 64 * 1024;
/** How much more than has arrived is reserved while that is little. */
const TRUST = 8;
/** From here on the announced size is believed. */
const TRUSTED_BYTES = 2 * 1024 * 1024;

/** A payload makes progress when so many more bytes of it have arrived. */
const PROGRESS_BYTES = 1024 * 1024;

interface Assembly {
  readonly total: number;
  buffer: Buffer;
  filled: number;
  /** When it last made progress, on the clock of `performance.now`, and how much of it had arrived then. */
  progressAt: number;
  progressBytes: number;
}

/** Told of what is unfinished in a session, together with that of others. */
export interface UnfinishedWatch {
  /** Bytes of payloads have arrived of which pieces are missing; negative: those are complete, or dropped. May throw `LimitExceeded`. */
  changed(assembly: ChunkAssembly, bytes: number): void;
}

/** Puts payloads together that arrive in pieces. What is reserved follows what has arrived, not what was announced. */
export class ChunkAssembly {
  readonly #limits: Pick<CompleteLimits, "maxUnfinishedBytes" | "maxUnfinishedPayloads">;
  readonly #watch: UnfinishedWatch | undefined;
  readonly #open = new Map<number, Assembly>();
  #reserved = 0;
  /** Bytes of unfinished payloads that have arrived. */
  #arrived = 0;
  /** Pieces that have arrived, of whatever payload. */
  #pieces = 0;

  constructor(
    limits: Pick<CompleteLimits, "maxUnfinishedBytes" | "maxUnfinishedPayloads"> = DEFAULT_LIMITS,
    watch?: UnfinishedWatch,
  ) {
    this.#limits = limits;
    this.#watch = watch;
  }

  /** How many payloads are unfinished. */
  get size(): number {
    return this.#open.size;
  }

  /** Pieces that have arrived so far. */
  get pieces(): number {
    return this.#pieces;
  }

  /** When the payload that is slowest last made progress, on the clock of `performance.now`; `Infinity` when there is none. */
  get slowestAt(): number {
    let slowest = Number.POSITIVE_INFINITY;
    for (const { progressAt } of this.#open.values()) slowest = Math.min(slowest, progressAt);
    return slowest;
  }

  /** Takes the chunk frame that the reader stands on. Throws `LimitExceeded` when too much is unfinished. */
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
    if (filled - assembly.progressBytes >= PROGRESS_BYTES) {
      assembly.progressAt = performance.now();
      assembly.progressBytes = filled;
    }
    this.#changed(end - start);
  }

  /** The whole payload, which must be complete. */
  take(id: number, length: number): Buffer {
    const assembly = this.#open.get(id);
    this.drop(id);
    if (assembly === undefined || assembly.filled !== length || assembly.total !== length) {
      throw new MalformedFrame(`payload ${id} has ${assembly?.filled ?? 0} of ${length} bytes`);
    }
    return assembly.buffer;
  }

  /** Forgets what has arrived for a payload. */
  drop(id: number): void {
    const assembly = this.#open.get(id);
    if (assembly === undefined) return;
    this.#open.delete(id);
    this.#reserved -= assembly.buffer.length;
    this.#changed(-assembly.filled);
  }

  clear(): void {
    this.#open.clear();
    this.#reserved = 0;
    this.#changed(-this.#arrived);
  }

  #changed(bytes: number): void {
    this.#arrived += bytes;
    this.#watch?.changed(this, bytes);
  }

  #begin(id: number, total: number): Assembly {
    if (total === 0 || total > constants.MAX_LENGTH) {
      throw new MalformedFrame(`payload ${id} of ${total} bytes is not between 1 and ${constants.MAX_LENGTH}`);
    }
    const { maxUnfinishedPayloads, maxUnfinishedBytes } = this.#limits;
    if (total > maxUnfinishedBytes) {
      throw new LimitExceeded("maxUnfinishedBytes", maxUnfinishedBytes, `bytes in one payload: it has ${total}`);
    }
    if (this.#open.size >= maxUnfinishedPayloads) {
      throw new LimitExceeded("maxUnfinishedPayloads", maxUnfinishedPayloads, "payloads of which pieces are missing");
    }
    const assembly = { total, buffer: Buffer.alloc(0), filled: 0, progressAt: performance.now(), progressBytes: 0 };
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
  return new LimitExceeded("maxUnfinishedBytes", limit, "bytes of payloads of which pieces are missing");
}
