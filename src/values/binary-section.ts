import type { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { MalformedPayload } from "./malformed-payload.ts";

const ALIGNMENT = 8;
const TRAILER = 8;
const WHOLE = 0;
const WINDOWS = 1;
const RESIZABLE = 2;
/** Smaller data is copied even out of an owned payload, so that it does not keep a large one in memory. */
const ALIASED_SIZE = 16 * 1024;
/** How much address space the resizable buffers of one payload may ask for. */
export const MAX_RESERVED = 2 ** 32;

interface Window {
  readonly from: number;
  to: number;
}

interface Source {
  readonly buffer: ArrayBuffer;
  readonly index: number;
  whole: boolean;
  /** All views so far are `Buffer`s, of which nobody expects that they share an `ArrayBuffer`. */
  loose: boolean;
  unit: number;
  readonly windows: Window[];
}

/** Collects the binary data of a payload, which is written at its end when all views on it are known. */
export class BinaryWriter {
  #sources = new Map<ArrayBuffer, Source>();

  get isEmpty(): boolean {
    return this.#sources.size === 0;
  }

  clear(): void {
    this.#sources = new Map();
  }

  /** Has all of `buffer` travel, and returns its number. */
  whole(buffer: ArrayBuffer): number {
    const source = this.#source(buffer);
    source.whole = true;
    return source.index;
  }

  /** Has part of `buffer` travel, and returns the number of the buffer. */
  window(buffer: ArrayBuffer, from: number, length: number, unit: number, loose: boolean): number {
    const source = this.#source(buffer);
    source.windows.push({ from, to: from + length });
    source.loose &&= loose;
    source.unit = Math.max(source.unit, unit);
    return source.index;
  }

  write(writer: ByteWriter): void {
    const start = writer.position;
    writer.varint(this.#sources.size);
    for (const source of this.#sources.values()) writeSource(writer, source);
    writer.float64(start);
  }

  #source(buffer: ArrayBuffer): Source {
    let source = this.#sources.get(buffer);
    if (source === undefined) {
      source = { buffer, index: this.#sources.size, whole: false, loose: true, unit: 1, windows: [] };
      this.#sources.set(buffer, source);
    }
    return source;
  }
}

function writeSource(writer: ByteWriter, source: Source): void {
  const limit = maxByteLengthOf(source.buffer);
  const windows = source.whole || limit !== undefined ? undefined : windowsOf(source);
  if (windows === undefined) {
    writer.byte(limit === undefined ? WHOLE : RESIZABLE);
    if (limit !== undefined) writer.varint(limit);
    writeBytes(writer, source.buffer, 0, source.buffer.byteLength);
    return;
  }
  writer.byte(WINDOWS);
  writer.varint(windows.length);
  for (const { from, to } of windows) {
    writer.varint(from);
    writeBytes(writer, source.buffer, from, to);
  }
}

function writeBytes(writer: ByteWriter, buffer: ArrayBuffer, from: number, to: number): void {
  writer.varint(to - from);
  writer.align(ALIGNMENT);
  writer.raw(new Uint8Array(buffer, from, to - from));
}

/** What of the buffer travels, in ascending order; undefined for all of it as a buffer of its own. */
function windowsOf(source: Source): Window[] | undefined {
  const sorted = source.windows.toSorted((a, b) => a.from - b.from);
  const merged: Window[] = [];
  for (const window of sorted) {
    const last = merged.at(-1);
    // Views other than Buffers stay views on one buffer, whatever lies between them.
    if (last !== undefined && (window.from < last.to || !source.loose)) last.to = Math.max(last.to, window.to);
    else merged.push({ from: window.from - (window.from % source.unit), to: window.to });
  }
  const only = merged.length === 1 ? merged[0] : undefined;
  const all = only !== undefined && only.from === 0 && only.to === source.buffer.byteLength;
  return all && !source.loose ? undefined : merged;
}

/** The size up to which a resizable buffer may grow; undefined for others. */
export function maxByteLengthOf(buffer: ArrayBufferLike): number | undefined {
  if (!("resizable" in buffer && buffer.resizable === true && "maxByteLength" in buffer)) return undefined;
  return Number(buffer.maxByteLength);
}

interface Stored {
  readonly kind: number;
  readonly limit: number;
  readonly pieces: Piece[];
}

interface Piece {
  readonly from: number;
  readonly length: number;
  /** Where its bytes are in the payload's buffer. */
  readonly at: number;
  made: { buffer: ArrayBuffer; offset: number } | undefined;
}

/** Gives out the binary data of a payload. */
export class BinaryReader {
  static readonly NONE = new BinaryReader(Buffer.alloc(0), 0, [], false);

  /** Where the section begins, which is where the rest of the payload ends. */
  readonly start: number;
  readonly #bytes: Uint8Array;
  readonly #stored: readonly Stored[];
  readonly #owned: boolean;

  private constructor(bytes: Uint8Array, start: number, stored: readonly Stored[], owned: boolean) {
    this.#bytes = bytes;
    this.start = start;
    this.#stored = stored;
    this.#owned = owned;
  }

  /** Reads the table of the section with `reader`, which is put back where it was. */
  static open(reader: ByteReader, bytes: Uint8Array, origin: number, owned: boolean): BinaryReader {
    const resume = reader.position;
    reader.skip(reader.remaining - TRAILER);
    const trailer = reader.position;
    const start = origin + reader.float64();
    if (!Number.isSafeInteger(start) || start < resume || start >= trailer) {
      throw new MalformedPayload("The binary section of the payload is not where it should be.");
    }
    reader.position = start;
    const stored: Stored[] = [];
    for (let left = reader.count(2); left > 0; left--) stored.push(readStored(reader, origin));
    if (reader.position !== trailer) throw new MalformedPayload("The binary section of the payload has a wrong size.");
    const reserved = stored.reduce((sum, { limit }) => sum + limit, 0);
    if (reserved > MAX_RESERVED) throw new MalformedPayload("The payload asks for too much memory.");
    reader.position = resume;
    return new BinaryReader(bytes, start, stored, owned);
  }

  /** All of buffer `index` as an `ArrayBuffer` of its own. */
  whole(index: number): ArrayBuffer {
    const stored = this.#get(index);
    const piece = stored.pieces[0];
    if (stored.kind === WINDOWS || piece === undefined) throw noSuchPart();
    return this.#make(stored, piece).buffer;
  }

  /** Where `length` bytes from `from` on of buffer `index` are now. */
  window(index: number, from: number, length: number, unit: number): { buffer: ArrayBuffer; offset: number } {
    const stored = this.#get(index);
    const piece = findPiece(stored.pieces, from, length);
    if (piece === undefined) throw noSuchPart();
    const { buffer, offset } = this.#make(stored, piece);
    const at = offset + from - piece.from;
    if (at % unit !== 0) throw noSuchPart();
    return { buffer, offset: at };
  }

  #get(index: number): Stored {
    const stored = this.#stored[index];
    if (stored === undefined) throw noSuchPart();
    return stored;
  }

  #make(stored: Stored, piece: Piece): { buffer: ArrayBuffer; offset: number } {
    piece.made ??= this.#place(stored, piece);
    return piece.made;
  }

  #place(stored: Stored, piece: Piece): { buffer: ArrayBuffer; offset: number } {
    const { buffer, byteOffset } = this.#bytes;
    const at = byteOffset + piece.at;
    const aliasable = this.#owned && stored.kind === WINDOWS && piece.length >= ALIASED_SIZE && at % ALIGNMENT === 0;
    if (aliasable && buffer instanceof ArrayBuffer) return { buffer, offset: at };
    const source = this.#bytes.subarray(piece.at, piece.at + piece.length);
    if (stored.kind === RESIZABLE) {
      const copy: ArrayBuffer = Reflect.construct(ArrayBuffer, [piece.length, { maxByteLength: stored.limit }]);
      new Uint8Array(copy).set(source);
      return { buffer: copy, offset: 0 };
    }
    const copy = Buffer.allocUnsafeSlow(piece.length);
    copy.set(source);
    return { buffer: copy.buffer, offset: 0 };
  }
}

function readStored(reader: ByteReader, origin: number): Stored {
  const kind = reader.byte();
  if (kind === WINDOWS) {
    const pieces: Piece[] = [];
    let last = 0;
    for (let left = reader.count(2); left > 0; left--) {
      const piece = readPiece(reader, origin, reader.varint());
      if (piece.from < last) throw noSuchPart();
      last = piece.from + piece.length;
      pieces.push(piece);
    }
    return { kind, limit: 0, pieces };
  }
  if (kind !== WHOLE && kind !== RESIZABLE) throw new MalformedPayload("The binary section is of an unknown kind.");
  const limit = kind === RESIZABLE ? reader.varint() : 0;
  const piece = readPiece(reader, origin, 0);
  if (kind === RESIZABLE && piece.length > limit) throw new MalformedPayload("A buffer is larger than its limit.");
  return { kind, limit, pieces: [piece] };
}

function readPiece(reader: ByteReader, origin: number, from: number): Piece {
  const length = reader.count();
  const position = reader.position - origin;
  reader.skip((ALIGNMENT - (position % ALIGNMENT)) % ALIGNMENT);
  return { from, length, at: reader.skip(length), made: undefined };
}

/** The piece that holds `length` bytes from `from` on; pieces are in ascending order. */
function findPiece(pieces: readonly Piece[], from: number, length: number): Piece | undefined {
  let low = 0;
  let high = pieces.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const piece = pieces[middle];
    if (piece === undefined) return undefined;
    if (from + length > piece.from + piece.length) low = middle + 1;
    else if (from < piece.from) high = middle - 1;
    else return piece;
  }
  return undefined;
}

function noSuchPart(): MalformedPayload {
  return new MalformedPayload("A view in the payload is on bytes that are not in it.");
}
