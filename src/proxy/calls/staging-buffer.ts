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
