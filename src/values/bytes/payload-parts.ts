/** An encoded value: bytes, or the parts that they are made of. */
export type EncodedValue = Uint8Array | PayloadParts;

/**
 * An encoded value with large binary data in it, which is still where the value has it. Whoever takes it writes or
 * copies the parts one after the other, before anything can change them.
 */
export class PayloadParts {
  readonly parts: readonly Uint8Array[];
  /** Bytes of all parts together. */
  readonly length: number;

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts;
    this.length = parts.reduce((sum, part) => sum + part.length, 0);
  }

  /** Copies all of it to where `target` is `at`. */
  copyTo(target: Uint8Array, at: number): void {
    let end = at;
    for (const part of this.parts) {
      target.set(part, end);
      end += part.length;
    }
  }
}

/** The bytes of a payload, in one piece that is not in use elsewhere. */
export function copyPayload(payload: EncodedValue): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(payload.length);
  if (payload instanceof PayloadParts) payload.copyTo(copy, 0);
  else copy.set(payload);
  return copy;
}
