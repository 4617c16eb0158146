import { MalformedPayload } from "./malformed-payload.ts";

/** The data of every buffer begins at a multiple of this, counted from the start of the payload. */
export const ALIGNMENT = 8;

/** Bytes at the end of a payload that say where the table of its binary data begins, and where the data begins. */
export const TRAILER_SIZE = 16;

/** Where the parts of the binary section are, counted from the start of the payload. */
export interface BinarySection {
  /** Start of the table of the data: the rest of the payload ends here. */
  readonly table: number;
  /** Start of the data itself. */
  readonly data: number;
  readonly end: number;
}

/** Reads the trailer of a payload of `length` bytes. */
export function readTrailer(trailer: Buffer, length: number): BinarySection {
  const table = trailer.readDoubleLE(0);
  const data = trailer.readDoubleLE(8);
  const end = length - TRAILER_SIZE;
  if (!Number.isSafeInteger(table) || !Number.isSafeInteger(data) || table < 1 || table >= data || data > end) {
    throw new MalformedPayload("the binary section of the payload is in the wrong place");
  }
  return { table, data, end };
}

/** The next multiple of the alignment. */
export function aligned(position: number): number {
  return position + ((ALIGNMENT - (position % ALIGNMENT)) % ALIGNMENT);
}

/** How a buffer is stored: all of it, parts of it, or all of it with the size up to which it may grow. */
export const WHOLE = 0;
export const WINDOWS = 1;
export const RESIZABLE = 2;

/** How much address space the resizable buffers of one payload may reserve, in bytes. */
export const MAX_RESERVED: number = 2 ** 32;

/** The size up to which a resizable buffer may grow; undefined for others. */
export function maxByteLengthOf(buffer: ArrayBufferLike): number | undefined {
  if (!("resizable" in buffer && buffer.resizable === true && "maxByteLength" in buffer)) return undefined;
  return Number(buffer.maxByteLength);
}
