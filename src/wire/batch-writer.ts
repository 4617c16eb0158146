const SLAB_BYTES = 64 * 1024;
const LOW_ROOM_BYTES = 4096;

/** How many bytes a varint takes. Handles integers up to 2^53. */
export function varintLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  if (value < 0x10000000) return 4;
  let length = 4;
  for (let rest = Math.floor(value / 0x10000000); rest > 0; rest = Math.floor(rest / 0x80)) length++;
  return length;
}

/**
 * Collects encoded frames into one message. Each message leaves `headroom` bytes free in front, for the prefixes of
 * the layers that carry it, so that nothing is copied on the way out.
 */
export class BatchWriter {
  readonly headroom: number;
  #slab: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  #start = 0;
  #position: number;

  constructor(headroom: number) {
    this.headroom = headroom;
    this.#position = headroom;
  }

  /** Bytes of frames written since the last `take`. */
  get size(): number {
    return this.#position - this.#start - this.headroom;
  }

  /** Makes room for `bytes` more. Call before a run of `byte`, `varint` and `bytes`. */
  reserve(bytes: number): void {
    if (this.#slab.length - this.#position < bytes) this.#grow(bytes);
  }

  byte(value: number): void {
    this.#slab[this.#position++] = value;
  }

  varint(value: number): void {
    const slab = this.#slab;
    let position = this.#position;
    let rest = value;
    while (rest >= 0x80000000) {
      slab[position++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    while (rest > 0x7f) {
      slab[position++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    slab[position++] = rest;
    this.#position = position;
  }

  bytes(source: Uint8Array): void {
    this.range(source, 0, source.length);
  }

  /** Copies a part of `source`. */
  range(source: Uint8Array, start: number, end: number): void {
    const length = end - start;
    const slab = this.#slab;
    let position = this.#position;
    if (length < 32) for (let i = start; i < end; i++) slab[position++] = source[i] as number;
    else {
      slab.set(start === 0 && end === source.length ? source : source.subarray(start, end), position);
      position += length;
    }
    this.#position = position;
  }

  /** The message so far, `headroom` included. The writer does not touch it again. */
  take(): Buffer {
    const message = this.#slab.subarray(this.#start, this.#position);
    if (this.#slab.length - this.#position < LOW_ROOM_BYTES) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#start = 0;
    } else {
      this.#start = this.#position;
    }
    this.#position = this.#start + this.headroom;
    return message;
  }

  #grow(bytes: number): void {
    const used = this.#position - this.#start;
    const slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, (used + bytes) * 2));
    this.#slab.copy(slab, 0, this.#start, this.#position);
    this.#slab = slab;
    this.#start = 0;
    this.#position = used;
  }
}
