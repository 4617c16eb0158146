import { constants } from "node:buffer";
import type { FrameReader } from "./frame-reader.ts";
import { MalformedFrame } from "./frame-reader.ts";
import { ChunkField } from "./request-frames.ts";

const MAX_OPEN = 4096;

interface Assembly {
  readonly buffer: Buffer;
  filled: number;
}

/**
 * Puts payloads together that arrive in pieces. Memory is taken as pieces arrive: the buffer is reserved, not
 * touched, before that.
 */
export class ChunkAssembly {
  readonly #open = new Map<number, Assembly>();

  /** Takes the chunk frame that the reader stands on. */
  add(frame: FrameReader): void {
    const id = frame.integer(ChunkField.id);
    const length = frame.end(ChunkField.data) - frame.start(ChunkField.data);
    let assembly = this.#open.get(id);
    if (assembly === undefined) {
      const total = frame.integer(ChunkField.total);
      if (total === 0 || total > constants.MAX_LENGTH) {
        throw new MalformedFrame(`payload ${id} of ${total} bytes is not between 1 and ${constants.MAX_LENGTH}`);
      }
      if (this.#open.size >= MAX_OPEN) throw new MalformedFrame(`more than ${MAX_OPEN} payloads at once`);
      assembly = { buffer: Buffer.allocUnsafeSlow(total), filled: 0 };
      this.#open.set(id, assembly);
    }
    if (assembly.filled + length > assembly.buffer.length) {
      throw new MalformedFrame(`payload ${id} is longer than the ${assembly.buffer.length} bytes announced`);
    }
    frame.buffer.copy(assembly.buffer, assembly.filled, frame.start(ChunkField.data), frame.end(ChunkField.data));
    assembly.filled += length;
  }

  /** The whole payload, which must be complete. */
  take(id: number, length: number): Buffer {
    const assembly = this.#open.get(id);
    this.#open.delete(id);
    if (assembly === undefined || assembly.filled !== length || assembly.buffer.length !== length) {
      throw new MalformedFrame(`payload ${id} has ${assembly?.filled ?? 0} of ${length} bytes`);
    }
    return assembly.buffer;
  }

  /** Forgets what has arrived for a payload. */
  drop(id: number): void {
    this.#open.delete(id);
  }

  clear(): void {
    this.#open.clear();
  }
}
