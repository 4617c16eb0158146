import { type EncodedValue, PayloadParts } from "../../values/index.ts";

const SLAB_BYTES = 64 * 1024;

/** Keeps encoded arguments from the call until they are sent. Many small ones share a slab. */
export class StagingBuffer {
  /** The slab that holds what was stored last. */
  slab: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  /** Where that starts. */
  start = 0;
  /** Where that ends. */
  end = 0;

  store(payload: EncodedValue): void {
    const { length } = payload;
    if (this.slab.length - this.end < length) {
      this.slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, length));
      this.end = 0;
    }
    const { slab } = this;
    const start = this.end;
    if (payload instanceof PayloadParts) payload.copyTo(slab, start);
    else if (length < 32) for (let i = 0; i < length; i++) slab[start + i] = payload[i] as number;
    else slab.set(payload, start);
    this.start = start;
    this.end = start + length;
  }
}
