import { PayloadParts } from "./payload-parts.ts";
import {
  ASCII_STRING,
  BIGINT,
  BIGINT_64,
  FALSE,
  FLOAT,
  FORMAT,
  INT,
  INT_MAX,
  NULL,
  SHORT_ARRAY,
  SHORT_STRING,
  TRUE,
  UNDEFINED,
  UTF8_STRING,
  UTF16_STRING,
} from "./tags.ts";

const INITIAL_SIZE = 16 * 1024;
/** A scratch buffer above this size is given to the payload instead of being kept. */
const KEPT_SIZE = 2 * 1024 * 1024;
/** From this size on, giving the scratch buffer away is cheaper than copying its content. */
const COPIED_SIZE = 64 * 1024;
/** From this size on, binary data may be left in place, without a copy. */
const LEFT_SIZE = 64 * 1024;
/** Views of fewer bytes than this are kept: making one takes 60 ns, a tenth of the time to encode such a value. */
const SHORT_VIEWS = 64;
const SHORT_LIMIT = 32;
/**
 * Not `\p{Surrogate}`: V8 asks ICU for the characters of a property when the expression is made. Without the two such
 * expressions that a worker began with it takes 0.2 MB less.
 */
const LONE_SURROGATE = /[\ud800-\udfff]/u;
const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** Writes primitive values into one growing scratch buffer. */
export class ByteWriter {
  bytes = Buffer.allocUnsafeSlow(INITIAL_SIZE);
  position = 0;
  /** Large binary data is left in place; `takeParts` inserts it. */
  leavesLarge = false;
  /** The data that was left in place, and where it belongs. */
  #left: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  #leftBytes = 0;
  #view = new DataView(this.bytes.buffer);
  #shortViews: Buffer<ArrayBuffer>[] = [];

  /**
   * The payload of a primitive value, or of a short list of them that has only elements. Undefined for other values. What
   * `write` needs for objects takes three times as long as such a value itself.
   */
  writePlain(value: unknown, list: readonly unknown[] | undefined): Buffer | undefined {
    this.position = 1;
    if (list === undefined) {
      if (!this.primitive(value)) return undefined;
    } else {
      const { length } = list;
      if (length > 15) return undefined;
      this.byte(SHORT_ARRAY | length);
      for (let index = 0; index < length; index++) if (!this.primitive(list[index])) return undefined;
    }
    this.bytes[0] = FORMAT;
    return this.written();
  }

  /** Makes room for `size` more bytes. */
  reserve(size: number): void {
    if (this.bytes.length - this.position < size) this.#grow(size);
  }

  /** The written bytes from 0 to `position`, as a view that the next use of this writer overwrites. */
  written(): Buffer {
    const { position } = this;
    if (position < SHORT_VIEWS && this.bytes.length <= KEPT_SIZE) {
      this.#shortViews[position] ??= this.bytes.subarray(0, position);
      return this.#shortViews[position];
    }
    const result = this.bytes.subarray(0, position);
    if (this.bytes.length > KEPT_SIZE) this.#replace(Buffer.allocUnsafeSlow(INITIAL_SIZE));
    return result;
  }

  /** The result of `written` together with the data that was left in place; undefined if there is no such data. */
  takeParts(written: Buffer): PayloadParts | undefined {
    if (this.#left.length === 0) return undefined;
    const parts: Uint8Array[] = [];
    let from = 0;
    for (const { at, bytes } of this.#left) {
      parts.push(written.subarray(from, at), bytes);
      from = at;
    }
    parts.push(written.subarray(from));
    this.forgetLeft();
    return new PayloadParts(parts);
  }

  /** Releases the data that was left in place. */
  forgetLeft(): void {
    if (this.#left.length === 0) return;
    this.#left = [];
    this.#leftBytes = 0;
  }

  /** The result of `written`, as bytes that do not change any more. */
  keep(written: Uint8Array): Uint8Array {
    if (written.buffer !== this.bytes.buffer) return written;
    if (written.length < COPIED_SIZE) return new Uint8Array(written);
    this.#replace(Buffer.allocUnsafeSlow(INITIAL_SIZE));
    return written;
  }

  byte(value: number): void {
    if (this.position === this.bytes.length) this.#grow(1);
    this.bytes[this.position++] = value;
  }

  /** An integer from 0 to 2^53 - 1, low groups of seven bits first. */
  varint(value: number): void {
    this.reserve(8);
    const bytes = this.bytes;
    let position = this.position;
    let rest = value;
    while (rest > 0x7fffffff) {
      bytes[position++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest > 127) {
      bytes[position++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    bytes[position++] = rest;
    this.position = position;
  }

  float64(value: number): void {
    this.reserve(8);
    this.#view.setFloat64(this.position, value, true);
    this.position += 8;
  }

  float64s(values: readonly number[]): void {
    this.reserve(8 * values.length);
    const view = this.#view;
    let position = this.position;
    for (let index = 0; index < values.length; index++, position += 8)
      view.setFloat64(position, values[index] ?? 0, true);
    this.position = position;
  }

  /** Writes a primitive value. Returns false, without writing anything, for objects, functions and symbols. */
  primitive(value: unknown): boolean {
    // Separate comparisons: the engine does not optimize a switch over typeof.
    if (typeof value === "number") this.number(value);
    else if (typeof value === "string") this.string(value);
    else if (typeof value === "boolean") this.byte(value ? TRUE : FALSE);
    else if (value === undefined) this.byte(UNDEFINED);
    else if (value === null) this.byte(NULL);
    else if (typeof value === "bigint") this.bigint(value);
    else return false;
    return true;
  }

  number(value: number): void {
    this.reserve(9);
    if ((value | 0) === value) {
      if (value > 0 && value <= INT_MAX) {
        this.bytes[this.position++] = value;
        return;
      }
      if (value !== 0) {
        this.bytes[this.position++] = INT;
        this.varint(((value << 1) ^ (value >> 31)) >>> 0);
        return;
      }
      if (Object.is(value, 0)) {
        this.bytes[this.position++] = 0;
        return;
      }
    }
    this.bytes[this.position] = FLOAT;
    this.#view.setFloat64(this.position + 1, value, true);
    this.position += 9;
  }

  bigint(value: bigint): void {
    this.reserve(9);
    if (value >= MIN_INT64 && value <= MAX_INT64) {
      this.bytes[this.position] = BIGINT_64;
      this.#view.setBigInt64(this.position + 1, value, true);
      this.position += 9;
      return;
    }
    const negative = value < 0n;
    const hex = (negative ? -value : value).toString(16);
    this.byte(BIGINT);
    this.byte(negative ? 1 : 0);
    this.varint(hex.length);
    this.reserve(hex.length);
    this.position += this.bytes.write(hex, this.position, "latin1");
  }

  string(value: string): void {
    const length = value.length;
    if (length < SHORT_LIMIT) {
      this.reserve(SHORT_LIMIT);
      const bytes = this.bytes;
      const start = this.position + 1;
      let index = 0;
      for (; index < length; index++) {
        const code = value.charCodeAt(index);
        if (code > 127) break;
        bytes[start + index] = code;
      }
      if (index === length) {
        bytes[start - 1] = SHORT_STRING | length;
        this.position = start + length;
        return;
      }
    }
    this.#longString(value);
  }

  #longString(value: string): void {
    const size = Buffer.byteLength(value, "utf8");
    if (size === value.length) {
      this.#text(ASCII_STRING, value, size, "latin1");
    } else if (size < 2 * value.length && !LONE_SURROGATE.test(value)) {
      this.#text(UTF8_STRING, value, size, "utf8");
    } else {
      this.#text(UTF16_STRING, value, 2 * value.length, "utf16le");
    }
  }

  #text(tag: number, value: string, size: number, encoding: BufferEncoding): void {
    this.byte(tag);
    this.varint(size);
    this.reserve(size);
    this.bytes.write(value, this.position, size, encoding);
    this.position += size;
  }

  /** Writes zero bytes up to the next multiple of `unit`, counted from the start of the payload. */
  align(unit: number): void {
    const padding = (unit - ((this.position + this.#leftBytes) % unit)) % unit;
    this.reserve(padding);
    this.bytes.fill(0, this.position, this.position + padding);
    this.position += padding;
  }

  raw(source: Uint8Array): void {
    if (this.leavesLarge && source.length >= LEFT_SIZE) {
      this.#left.push({ at: this.position, bytes: source });
      this.#leftBytes += source.length;
      return;
    }
    this.reserve(source.length);
    this.bytes.set(source, this.position);
    this.position += source.length;
  }

  #grow(size: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.position + size));
    larger.set(this.bytes.subarray(0, this.position));
    this.#replace(larger);
  }

  #replace(bytes: Buffer<ArrayBuffer>): void {
    this.bytes = bytes;
    this.#shortViews = [];
    this.#view = new DataView(bytes.buffer);
  }
}
