import { type BatchWriter, ResponseField, writeResults, writeSmallOutcome } from "../../../wire/index.ts";

/** Bytes of results in one frame. */
const MOST_BYTES = 16 * 1024;

/**
 * Collects results of calls of a pack that follow each other, for one frame. Write what it holds before any other frame
 * about the same task, and before a message is sent.
 */
export class ResultRun {
  readonly #writer: BatchWriter;
  #id = -1;
  #first = 0;
  readonly #bytes = Buffer.allocUnsafeSlow(MOST_BYTES);
  #size = 0;
  #lengths: number[] = [];

  constructor(writer: BatchWriter) {
    this.#writer = writer;
  }

  /** Adds the encoded result of a call: `item`, from 1. Results that do not belong together are written before. */
  add(id: number, item: number, result: Uint8Array): void {
    const { length } = result;
    const isNext = id === this.#id && item === this.#first + this.#lengths.length && this.#size + length <= MOST_BYTES;
    if (!isNext) {
      this.write();
      if (length > MOST_BYTES) return writeSmallOutcome(this.#writer, ResponseField.result, id, result, item);
      this.#id = id;
      this.#first = item;
    }
    const bytes = this.#bytes;
    const size = this.#size;
    // Results are often a few bytes.
    if (length < 32) for (let index = 0; index < length; index++) bytes[size + index] = result[index] ?? 0;
    else bytes.set(result, size);
    this.#size = size + length;
    this.#lengths.push(length);
  }

  /** Writes what it holds. */
  write(): void {
    if (this.#lengths.length === 0) return;
    const values = this.#bytes.subarray(0, this.#size);
    if (this.#lengths.length === 1) {
      writeSmallOutcome(this.#writer, ResponseField.result, this.#id, values, this.#first);
    } else writeResults(this.#writer, this.#id, this.#first, values, this.#lengths);
    this.#id = -1;
    this.#size = 0;
    this.#lengths = [];
  }
}
