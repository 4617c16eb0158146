import { aligned, type BinarySection, MAX_RESERVED, RESIZABLE, WHOLE, WINDOWS } from "./binary-layout.ts";
import type { ByteReader } from "./byte-reader.ts";
import { MalformedPayload } from "./malformed-payload.ts";

/** Where the bytes of a payload's binary data are. Positions are counted from the start of the payload. */
export interface BinaryData {
  /** Fills `target` with the bytes from `at` on. */
  copy(target: Uint8Array, at: number): void;
  /** Like `copy`, but at any time before the value is used. */
  fill(target: Uint8Array, at: number): void;
  /** The memory that holds the bytes, if values may keep using it; undefined if they must be copied. */
  share(at: number, length: number): Place | undefined;
  /** Separate memory with only these bytes, for values to keep. */
  own?(at: number, length: number): ArrayBufferLike;
}

/** A place in memory. */
interface Place {
  readonly buffer: ArrayBufferLike;
  readonly offset: number;
}

interface Stored {
  readonly kind: number;
  readonly limit: number;
  readonly pieces: Piece[];
}

interface Piece {
  readonly from: number;
  readonly length: number;
  /** Where its bytes are in the payload. */
  readonly at: number;
  made: Place | undefined;
}

/** Provides the binary data of a payload. */
export class BinaryReader {
  static readonly NONE = new BinaryReader([], { copy: () => {}, fill: () => {}, share: () => undefined });

  readonly #stored: readonly Stored[];
  readonly #data: BinaryData;

  private constructor(stored: readonly Stored[], data: BinaryData) {
    this.#stored = stored;
    this.#data = data;
  }

  /** Reads the table. It is the rest of `reader`. */
  static open(reader: ByteReader, section: BinarySection, data: BinaryData): BinaryReader {
    return new BinaryReader(readTable(reader, section), data);
  }

  /** Where the data of each piece is, in ascending order, according to the table. The table is the rest of `reader`. */
  static pieces(reader: ByteReader, section: BinarySection): readonly { at: number; length: number }[] {
    return readTable(reader, section).flatMap(({ pieces }) => pieces);
  }

  /** All of buffer `index` as a separate buffer. */
  whole(index: number): ArrayBufferLike {
    const stored = this.#get(index);
    return this.#make(stored, onlyPiece(stored)).buffer;
  }

  /** The bytes of buffer `index`. */
  bytes(index: number): Uint8Array<ArrayBuffer> {
    const { length, at } = onlyPiece(this.#get(index));
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
    this.#data.copy(bytes, at);
    return bytes;
  }

  /** Where `length` bytes of buffer `index`, from `from` on, are in memory. */
  window(index: number, from: number, length: number, unit: number): Place {
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

  #make(stored: Stored, piece: Piece): Place {
    piece.made ??= this.#place(stored, piece);
    return piece.made;
  }

  #place(stored: Stored, piece: Piece): Place {
    const own = this.#data.own?.(piece.at, piece.length);
    if (own !== undefined) return { buffer: own, offset: 0 };
    const shared = stored.kind === WINDOWS ? this.#data.share(piece.at, piece.length) : undefined;
    if (shared !== undefined) return shared;
    const buffer: ArrayBuffer =
      stored.kind === RESIZABLE
        ? Reflect.construct(ArrayBuffer, [piece.length, { maxByteLength: stored.limit }])
        : Buffer.allocUnsafeSlow(piece.length).buffer;
    this.#data.fill(new Uint8Array(buffer), piece.at);
    return { buffer, offset: 0 };
  }
}

function readTable(reader: ByteReader, section: BinarySection): Stored[] {
  const places = new Places(section);
  const stored: Stored[] = [];
  for (let left = reader.count(2); left > 0; left--) stored.push(readEntry(reader, places));
  if (places.end !== section.end) throw new MalformedPayload("the binary section of the payload has a wrong size");
  const reserved = stored.reduce((sum, { limit }) => sum + limit, 0);
  if (reserved > MAX_RESERVED) throw new MalformedPayload("the payload reserves too much memory");
  return stored;
}

/** Computes the place of each piece, one after the other. */
class Places {
  readonly #limit: number;
  end: number;

  constructor({ data, end }: BinarySection) {
    this.end = data;
    this.#limit = end;
  }

  next(length: number): number {
    const at = aligned(this.end);
    if (at + length > this.#limit) throw new MalformedPayload("the payload ends inside its binary data");
    this.end = at + length;
    return at;
  }
}

function readEntry(reader: ByteReader, places: Places): Stored {
  const kind = reader.byte();
  if (kind === WINDOWS) {
    const pieces: Piece[] = [];
    let last = 0;
    for (let left = reader.count(2); left > 0; left--) {
      const piece = readPiece(reader, reader.varint(), places);
      if (piece.from < last) throw noSuchPart();
      last = piece.from + piece.length;
      pieces.push(piece);
    }
    return { kind, limit: 0, pieces };
  }
  if (kind !== WHOLE && kind !== RESIZABLE) throw new MalformedPayload("the binary section is of an unknown kind");
  const limit = kind === RESIZABLE ? reader.varint() : 0;
  const piece = readPiece(reader, 0, places);
  if (kind === RESIZABLE && piece.length > limit) throw new MalformedPayload("a buffer is larger than its limit");
  return { kind, limit, pieces: [piece] };
}

function onlyPiece({ kind, pieces: [piece] }: Stored): Piece {
  if (kind === WINDOWS || piece === undefined) throw noSuchPart();
  return piece;
}

function readPiece(reader: ByteReader, from: number, places: Places): Piece {
  const length = reader.varint();
  return { from, length, at: places.next(length), made: undefined };
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
  return new MalformedPayload("a view in the payload refers to bytes that are not in it");
}
