import type { EncodedValue } from "../values/index.ts";

/**
 * Most payloads that are under way at once, and most bytes of them, the largest not counted. Peers limit what is unfinished; a
 * huge payload alone holds up no other.
 */
const MOST_UNDER_WAY = 64;
const MOST_UNDER_WAY_BYTES = 128 * 1024 * 1024;

/** A payload that is sent in chunks. */
export interface Bulk {
  readonly id: number;
  readonly payload: EncodedValue;
  /** Bytes that have been sent. */
  offset: number;
  /** To be called when all have. */
  readonly finish: () => void;
}

/** Payloads to be sent in chunks. Those under way take turns; others wait until few enough are. */
export class BulkQueue {
  /** The one whose turn it is first. */
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

  /** It has its next turn after the others. */
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

  /** Begins with payloads that wait, in their order, as far as there may be more under way. */
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
