import type { EncodedValue } from "../values/index.ts";

/**
 * Most payloads under way at once, and most of their bytes, without the largest payload. Peers limit unfinished
 * payloads; a huge payload alone must not block the others.
 */
const MOST_UNDER_WAY = 64;
const MOST_UNDER_WAY_BYTES = 128 * 1024 * 1024;

/** A payload that is sent in chunks. */
export interface Bulk {
  readonly id: number;
  readonly payload: EncodedValue;
  /** Bytes that have been sent. */
  offset: number;
  /** Called when all bytes have been sent. */
  readonly finish: () => void;
}

/** Payloads to be sent in chunks. Those under way take turns; the others wait for room among them. */
export class BulkQueue {
  /** The first one has the next turn. */
  readonly #underWay: Bulk[] = [];
  readonly #waiting: Bulk[] = [];

  get size(): number {
    return this.#underWay.length + this.#waiting.length;
  }

  /** Bytes that have not been sent, without the largest payload. */
  get queuedBytes(): number {
    let [sum, largest] = [0, 0];
    for (const bulks of [this.#underWay, this.#waiting]) {
      for (const { payload, offset } of bulks) {
        sum += payload.length - offset;
        largest = Math.max(largest, payload.length - offset);
      }
    }
    return sum - largest;
  }

  add(bulk: Bulk): void {
    this.#waiting.push(bulk);
  }

  /** Takes out the payload whose turn it is. `putBack` unless it is finished. */
  take(): Bulk | undefined {
    if (this.#waiting.length > 0) this.#begin();
    return this.#underWay.shift();
  }

  /** Puts it behind the others. */
  putBack(bulk: Bulk): void {
    this.#underWay.push(bulk);
  }

  remove(id: number): void {
    for (const bulks of [this.#underWay, this.#waiting]) {
      const index = bulks.findIndex((bulk) => bulk.id === id);
      if (index >= 0) bulks.splice(index, 1);
    }
  }

  clear(): void {
    this.#underWay.length = 0;
    this.#waiting.length = 0;
  }

  /** Starts waiting payloads, in their order, as far as the limits allow. */
  #begin(): void {
    let [sum, largest] = [0, 0];
    for (const { payload } of this.#underWay) {
      sum += payload.length;
      largest = Math.max(largest, payload.length);
    }
    for (let i = 0; this.#underWay.length < MOST_UNDER_WAY; ) {
      const bulk = this.#waiting[i];
      if (bulk === undefined) return;
      const { length } = bulk.payload;
      if (sum + length - Math.max(largest, length) > MOST_UNDER_WAY_BYTES) {
        i++;
        continue;
      }
      this.#waiting.splice(i, 1);
      this.#underWay.push(bulk);
      sum += length;
      largest = Math.max(largest, length);
    }
  }
}
