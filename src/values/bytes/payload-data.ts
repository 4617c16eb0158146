import { types } from "node:util";
import { ALIGNMENT } from "./binary-layout.ts";
import type { BinaryData } from "./binary-reader.ts";

/** Smaller data is copied even out of an owned payload, so that it does not keep a large one in memory. */
const SHARED_SIZE = 16 * 1024;

/** A payload outside of memory, such as in a file. */
export interface PayloadSource {
  readonly length: number;
  /** Fills all of `target` with the bytes from `at` on, or throws. */
  read(target: Uint8Array, at: number): void;
  /** Like `read`, but at any time before the value is used. Default: `read`. */
  readLater?(target: Uint8Array, at: number): void;
}

/** The binary data of a payload in memory, which begins at `start` of `bytes`. */
export class DataInMemory implements BinaryData {
  readonly #bytes: Uint8Array;
  readonly #start: number;
  readonly #owned: boolean;

  constructor(bytes: Uint8Array, start: number, owned: boolean) {
    this.#bytes = bytes;
    this.#start = start;
    this.#owned = owned;
  }

  copy(target: Uint8Array, at: number): void {
    const from = this.#start + at;
    target.set(this.#bytes.subarray(from, from + target.length));
  }

  fill(target: Uint8Array, at: number): void {
    this.copy(target, at);
  }

  share(at: number, length: number): { buffer: ArrayBuffer; offset: number } | undefined {
    if (!this.#owned || length < SHARED_SIZE) return undefined;
    const { buffer, byteOffset } = this.#bytes;
    const offset = byteOffset + this.#start + at;
    return offset % ALIGNMENT === 0 && types.isArrayBuffer(buffer) ? { buffer, offset } : undefined;
  }
}

/** The binary data of a payload outside of memory: it is read into its final place. */
export class DataInSource implements BinaryData {
  readonly #source: PayloadSource;

  constructor(source: PayloadSource) {
    this.#source = source;
  }

  copy(target: Uint8Array, at: number): void {
    this.#source.read(target, at);
  }

  fill(target: Uint8Array, at: number): void {
    if (this.#source.readLater === undefined) this.#source.read(target, at);
    else this.#source.readLater(target, at);
  }

  share(): undefined {
    return undefined;
  }
}
