import { MalformedPayload } from "./malformed-payload.ts";
import {
  ASCII_STRING,
  FALSE,
  FLOAT,
  FORMAT,
  INT,
  INT_MAX,
  NULL,
  SHORT_ARRAY,
  SHORT_OBJECT,
  SHORT_STRING,
  TRUE,
  UNDEFINED,
  UTF8_STRING,
  UTF16_STRING,
} from "./tags.ts";

const float = new Float64Array(1);
const int64 = new BigInt64Array(float.buffer);
const floatBytes = new Uint8Array(float.buffer);
const EMPTY = Buffer.alloc(0);
/** Longest short string worth a place in the cache; longer ones are seldom repeated. */
const CACHED_LENGTH = 16;

/** The result of `readPlain` for a payload of another kind. */
export const NOT_PLAIN = Symbol("not plain");

/** Reads primitive values from part of a buffer. Every method throws `MalformedPayload` instead of reading past the end. */
export class ByteReader {
  protected bytes: Buffer = EMPTY;
  protected start = 0;
  protected end = 0;
  position = 0;
  readonly #values = new ShortStrings(false);
  readonly #keys = new ShortStrings(true);

  protected open(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.start = start;
    this.position = start;
    this.end = end;
  }

  protected close(): void {
    this.bytes = EMPTY;
  }

  /**
   * The value in `bytes` from `start` to `end`, if it is a primitive one or a short list of them. `NOT_PLAIN` for anything
   * else, malformed payloads included. What objects need takes three times as long as such a value itself.
   */
  readPlain(bytes: Uint8Array, start: number, end: number): unknown {
    if (bytes[start] !== FORMAT || end - start < 2) return NOT_PLAIN;
    this.open(bytes, start, end);
    this.position = start + 1;
    try {
      const tag = this.byte();
      let value: unknown;
      if (isPrimitive(tag)) value = this.primitive(tag);
      else if (tag < SHORT_OBJECT) value = this.#plainList(tag - SHORT_ARRAY);
      else return NOT_PLAIN;
      return this.position === end ? value : NOT_PLAIN;
    } finally {
      this.close();
    }
  }

  #plainList(length: number): unknown {
    const list: unknown[] = [];
    for (let index = 0; index < length; index++) {
      const tag = this.byte();
      if (!isPrimitive(tag)) return NOT_PLAIN;
      const value = this.primitive(tag);
      // An array that begins empty has room for 17 elements as soon as it has one.
      if (length === 1) return [value];
      list.push(value);
    }
    return list;
  }

  /** How many bytes are left. */
  get remaining(): number {
    return this.end - this.position;
  }

  byte(): number {
    if (this.position >= this.end) throw truncated();
    return this.bytes[this.position++] ?? 0;
  }

  varint(): number {
    let result = this.byte();
    if (result < 128) return result;
    result &= 127;
    let scale = 128;
    for (;;) {
      const group = this.byte();
      result += (group & 127) * scale;
      if (group < 128) break;
      scale *= 128;
      if (scale > 2 ** 49) throw new MalformedPayload("a length in the payload has too many digits");
    }
    if (result > Number.MAX_SAFE_INTEGER) throw new MalformedPayload("a length in the payload is too large");
    return result;
  }

  /** A varint that counts items. Each of them takes at least `size` of the bytes left. */
  count(size = 1): number {
    const result = this.varint();
    if (result * size > this.remaining) throw truncated();
    return result;
  }

  /** Moves past `size` bytes and returns where they begin. */
  skip(size: number): number {
    const position = this.position;
    if (size > this.end - position) throw truncated();
    this.position = position + size;
    return position;
  }

  int(): number {
    const folded = this.varint();
    if (folded > 0xffffffff) throw new MalformedPayload("an integer in the payload is out of range");
    return (folded >>> 1) ^ -(folded & 1);
  }

  float64(): number {
    this.#load();
    return float[0] ?? 0;
  }

  float64s(count: number): number[] {
    const from = this.bytes.byteOffset + this.skip(8 * count);
    const view = new DataView(this.bytes.buffer, from, 8 * count);
    const values: number[] = [];
    for (let offset = 0; offset < 8 * count; offset += 8) values.push(view.getFloat64(offset, true));
    return values;
  }

  bigint64(): bigint {
    this.#load();
    return int64[0] ?? 0n;
  }

  bigint(): bigint {
    const negative = this.byte() === 1;
    const size = this.count();
    const from = this.skip(size);
    const hex = this.bytes.toString("latin1", from, from + size);
    if (!/^[0-9a-f]+$/.test(hex)) throw new MalformedPayload("a bigint in the payload is not in hex digits");
    try {
      const magnitude = BigInt(`0x${hex}`);
      return negative ? -magnitude : magnitude;
    } catch (error) {
      throw new MalformedPayload("a bigint in the payload is too large", { cause: error });
    }
  }

  /** A primitive value whose tag has been read: see `isPrimitive`. */
  protected primitive(tag: number): unknown {
    if (tag <= INT_MAX) return tag;
    if (tag < SHORT_ARRAY) return this.string(tag);
    switch (tag) {
      case INT:
        return this.int();
      case FLOAT:
        return this.float64();
      case NULL:
        return null;
      case FALSE:
        return false;
      case TRUE:
        return true;
      default:
        return undefined;
    }
  }

  /** A string whose tag has been read. */
  string(tag: number): string {
    if (tag >= SHORT_STRING && tag < SHORT_ARRAY) {
      const size = tag - SHORT_STRING;
      const from = this.skip(size);
      if (size <= CACHED_LENGTH) return this.#values.get(this.bytes, from, size);
      return this.bytes.toString("latin1", from, from + size);
    }
    return this.#longString(tag);
  }

  /** A string with its tag, or undefined when something else is next. */
  key(): string | undefined {
    if (this.position >= this.end) throw truncated();
    const tag = this.bytes[this.position] ?? 0;
    if (tag >= SHORT_STRING && tag < SHORT_ARRAY) {
      this.position++;
      const size = tag - SHORT_STRING;
      const from = this.skip(size);
      return this.#keys.get(this.bytes, from, size);
    }
    if (tag < ASCII_STRING || tag > UTF16_STRING) return undefined;
    this.position++;
    return this.#longString(tag);
  }

  /** A string with its tag. */
  text(): string {
    return this.string(this.byte());
  }

  #longString(tag: number): string {
    const encoding =
      tag === ASCII_STRING ? "latin1" : tag === UTF8_STRING ? "utf8" : tag === UTF16_STRING ? "utf16le" : undefined;
    if (encoding === undefined) throw new MalformedPayload(`expected a string in the payload, found tag ${tag}`);
    const size = this.count();
    const from = this.skip(size);
    try {
      return this.bytes.toString(encoding, from, from + size);
    } catch (error) {
      throw new MalformedPayload("a string in the payload is longer than strings can be", { cause: error });
    }
  }

  #load(): void {
    const from = this.skip(8);
    const bytes = this.bytes;
    for (let index = 0; index < 8; index++) floatBytes[index] = bytes[from + index] ?? 0;
  }
}

/** Whether a tag is that of a number, a short string, a boolean, null or undefined. */
export function isPrimitive(tag: number): boolean {
  return tag < SHORT_ARRAY || (tag >= UNDEFINED && tag <= FLOAT);
}

function truncated(): MalformedPayload {
  return new MalformedPayload("the payload ends too early");
}

const PLACES = 2048;

/** Remembers short ASCII strings, so that a repeated one is found by its bytes and not made again. */
export class ShortStrings {
  readonly #places: string[] = Array.from({ length: PLACES }, () => "");
  readonly #internalize: boolean;

  /** @param internalize - whether to internalize the strings at once, which is faster when they become property keys */
  constructor(internalize: boolean) {
    this.#internalize = internalize;
  }

  /** The string of `size` ASCII characters at `from`. */
  get(bytes: Buffer, from: number, size: number): string {
    let hash = size;
    const end = from + size;
    for (let at = from; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
    const place = (hash ^ (hash >>> 11)) & (PLACES - 1);
    const found = this.#places[place] ?? "";
    if (found.length === size) {
      let index = 0;
      while (index < size && found.charCodeAt(index) === bytes[from + index]) index++;
      if (index === size) return found;
    }
    let made = bytes.toString("latin1", from, end);
    if (this.#internalize) made = Object.keys({ [made]: 0 })[0] ?? made;
    this.#places[place] = made;
    return made;
  }
}
