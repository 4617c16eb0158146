import { ALIGNMENT, MAX_RESERVED, RESIZABLE, TRAILER_SIZE, WHOLE, WINDOWS } from "./binary-layout.ts";
import type { ByteReader } from "./byte-reader.ts";
import { MalformedPayload } from "./malformed-payload.ts";

/** Smaller data is copied even out of an owned payload, so that it does not keep a large one in memory. */
const ALIASED_SIZE = 16 * 1024;

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
    reader.skip(reader.remaining - TRAILER_SIZE);
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
