import { types } from "node:util";
import { type BinarySection, readTrailer, TRAILER_SIZE } from "./binary-layout.ts";
import { type BinaryData, BinaryReader } from "./binary-reader.ts";
import { ByteReader } from "./byte-reader.ts";
import { MalformedPayload } from "./malformed-payload.ts";
import type { PayloadSource } from "./payload-data.ts";
import { PayloadParts } from "./payload-parts.ts";
import { HAS_BINARY } from "./tags.ts";

/** Smaller data is copied in each thread: separate memory would cost more than it saves. */
const LARGE_BYTES = 16 * 1024;

/** Large binary data of a payload, in separate memory. */
interface LargePiece {
  /** Where it belongs in the payload. */
  readonly at: number;
  readonly memory: SharedArrayBuffer;
}

/** A payload in memory that all threads of a process can share. It can be posted to them as it is. */
export interface SharedPayload {
  /** Its length in bytes. */
  readonly length: number;
  /** In ascending order. */
  readonly large: readonly LargePiece[];
  /** Everything else, without gaps. */
  readonly rest: SharedArrayBuffer;
}

/** The memory of values that were decoded or encoded here: tasks may pass on its content. */
const known = new WeakSet<ArrayBufferLike>();

/** Whether this is memory of a shared value, which travels as a copy. Other memory of the process does not travel. */
export function isSharedMemory(buffer: object): boolean {
  return types.isSharedArrayBuffer(buffer) && known.has(buffer);
}

/** Reads a payload into memory that threads can share. Throws `MalformedPayload`, and whatever `source.read` throws. */
export function readSharedPayload(source: PayloadSource): SharedPayload {
  const large = findLarge(source).map(({ at, length }) => ({ at, memory: new SharedArrayBuffer(length) }));
  const size = large.reduce((sum, { memory }) => sum - memory.byteLength, source.length);
  const payload = { length: source.length, large, rest: new SharedArrayBuffer(size) };
  let at = 0;
  for (const bytes of segmentsOf(payload)) {
    source.read(bytes, at);
    at += bytes.length;
  }
  return payload;
}

/** The bytes of a payload, in their order. */
export function sharedParts(payload: SharedPayload): PayloadParts {
  return new PayloadParts(segmentsOf(payload));
}

/** The payload up to its binary data, and where that data is, if there is any. */
export function openShared(payload: SharedPayload): { head: Buffer; section: BinarySection | undefined } {
  const rest = Buffer.from(payload.rest);
  const section = hasBinary(rest) ? readTrailer(rest.subarray(-TRAILER_SIZE), payload.length) : undefined;
  return { head: rest.subarray(0, section?.data ?? rest.length), section };
}

/** The binary data of a payload that threads share. */
export class DataInShared implements BinaryData {
  readonly #rest: SharedArrayBuffer;
  readonly #large = new Map<number, SharedArrayBuffer>();
  /** Where each large piece is, and the sum of all large bytes up to its end. */
  readonly #ends: { readonly at: number; readonly sum: number }[] = [];

  constructor({ large, rest }: SharedPayload) {
    this.#rest = rest;
    let sum = 0;
    for (const { at, memory } of large) {
      sum += memory.byteLength;
      this.#large.set(at, memory);
      this.#ends.push({ at, sum });
    }
  }

  copy(target: Uint8Array, at: number): void {
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ends[middle]?.at ?? 0) < at) low = middle + 1;
      else high = middle;
    }
    target.set(new Uint8Array(this.#rest, at - (this.#ends[low - 1]?.sum ?? 0), target.length));
  }

  fill(target: Uint8Array, at: number): void {
    this.copy(target, at);
  }

  share(): undefined {
    return undefined;
  }

  own(at: number, length: number): ArrayBufferLike {
    const shared = length < LARGE_BYTES ? undefined : this.#large.get(at);
    const memory = shared ?? new SharedArrayBuffer(length);
    if (shared === undefined) this.copy(new Uint8Array(memory), at);
    known.add(memory);
    return memory;
  }
}

function segmentsOf({ length, large, rest }: SharedPayload): Uint8Array[] {
  const segments: Uint8Array[] = [];
  let [at, done] = [0, 0];
  for (const piece of large) {
    segments.push(new Uint8Array(rest, done, piece.at - at), new Uint8Array(piece.memory));
    done += piece.at - at;
    at = piece.at + piece.memory.byteLength;
  }
  segments.push(new Uint8Array(rest, done, length - at));
  return segments;
}

function hasBinary(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & HAS_BINARY) !== 0;
}

function findLarge(source: PayloadSource): { at: number; length: number }[] {
  if (source.length === 0) throw new MalformedPayload("the payload is empty");
  const header = Buffer.alloc(1);
  source.read(header, 0);
  if (!hasBinary(header)) return [];
  if (source.length < TRAILER_SIZE) throw new MalformedPayload("the payload ends before its trailer");
  const trailer = Buffer.alloc(TRAILER_SIZE);
  source.read(trailer, source.length - TRAILER_SIZE);
  const section = readTrailer(trailer, source.length);
  const table = Buffer.allocUnsafe(section.data - section.table);
  source.read(table, section.table);
  return BinaryReader.pieces(new TableReader(table), section).filter(({ length }) => length >= LARGE_BYTES);
}

class TableReader extends ByteReader {
  constructor(table: Buffer) {
    super();
    this.open(table, 0, table.length);
  }
}
