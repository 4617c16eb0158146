import { type EncodedValue, PayloadParts } from "../../values/index.ts";

const SLAB_BYTES = 64 * 1024;

/**
 * Keeps encoded arguments from the call until they are sent. Many small ones share a slab (1.06x as many calls with 100 in
 * flight), and are copied in a loop (1.24x).
 */
export class StagingBuffer {
  /** The slab that holds the arguments stored last. */
  slab: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  /** Where they start. */
  start = 0;
  /** Where they end. */
  end = 0;

  store(payload: EncodedValue): void {
    this.begin();
    this.append(payload);
  }

  /** Begins with arguments that follow each other. */
  begin(): void {
    this.start = this.end;
  }

  /** Adds to the arguments stored last. */
  append(payload: EncodedValue): void {
    const { length } = payload;
    if (this.slab.length - this.end < length) this.#grow(length);
    const { slab } = this;
    const start = this.end;
    if (payload instanceof PayloadParts) payload.copyTo(slab, start);
    else if (length < 32) for (let i = 0; i < length; i++) slab[start + i] = payload[i] as number;
    else slab.set(payload, start);
    this.end = start + length;
  }

  #grow(length: number): void {
    const stored = this.end - this.start;
    const slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, 2 * stored + length));
    if (stored > 0) this.slab.copy(slab, 0, this.start, this.end);
    this.slab = slab;
    this.start = 0;
    this.end = stored;
  }
}
