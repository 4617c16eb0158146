/** An encoded value: bytes, or the parts that they are made of. */
export type EncodedValue = Uint8Array | PayloadParts;

/**
 * An encoded value with large binary data, which is still in the memory of the value. The receiver writes or copies the
 * parts one after the other, before anything can change them.
 */
export class PayloadParts {
  readonly parts: readonly Uint8Array[];
  /** Bytes of all parts together. */
  readonly length: number;

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts;
    this.length = parts.reduce((sum, part) => sum + part.length, 0);
  }

  /** The bytes from `from` to `to`, in one piece: a view on one part, or a copy. */
  slice(from: number, to: number): Uint8Array {
    const pieces: Uint8Array[] = [];
    let at = 0;
    for (const part of this.parts) {
      if (at + part.length > from && at < to) pieces.push(part.subarray(Math.max(0, from - at), to - at));
      at += part.length;
    }
    const [only] = pieces;
    return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
  }

  /**
   * The same payload for later use: written parts are copied, and large binary data stays in the memory of the value.
   * Nobody may change that data meanwhile.
   */
  keep(): PayloadParts {
    return new PayloadParts(this.parts.map((part, index) => (index % 2 === 0 ? Uint8Array.from(part) : part)));
  }

  /** Copies all of it into `target`, from `at` on. */
  copyTo(target: Uint8Array, at: number): void {
    let end = at;
    for (const part of this.parts) {
      target.set(part, end);
      end += part.length;
    }
  }
}

/** The bytes of a payload, copied into one new buffer. */
export function copyPayload(payload: EncodedValue): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(payload.length);
  if (payload instanceof PayloadParts) payload.copyTo(copy, 0);
  else copy.set(payload);
  return copy;
}
