/** The data of every buffer begins at a multiple of this, counted from the start of the payload. */
export const ALIGNMENT = 8;

/** Says at the end of a payload where the binary section begins. */
export const TRAILER_SIZE = 8;

/** How a buffer is stored: all of it, parts of it, or all of it with the size up to which it may grow. */
export const WHOLE = 0;
export const WINDOWS = 1;
export const RESIZABLE = 2;

/** How much address space the resizable buffers of one payload may ask for, in bytes. */
export const MAX_RESERVED: number = 2 ** 32;

/** The size up to which a resizable buffer may grow; undefined for others. */
export function maxByteLengthOf(buffer: ArrayBufferLike): number | undefined {
  if (!("resizable" in buffer && buffer.resizable === true && "maxByteLength" in buffer)) return undefined;
  return Number(buffer.maxByteLength);
}
