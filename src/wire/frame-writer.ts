import type { BatchWriter } from "./batch-writer.ts";
import { varintLength } from "./batch-writer.ts";

/** The value of a field. `undefined` leaves the field out. */
export type FieldValue = number | boolean | string | Uint8Array | readonly number[] | readonly string[] | undefined;

/** The bytes of a field, or of each string of a repeated one. */
type EncodedField = number | Uint8Array | Uint8Array[] | undefined;

const FRAME_OVERHEAD = 32;

/** Writes a frame of any shape. Fields that are absent, zero, false or empty are left out, as proto3 requires. */
export function writeFrame(writer: BatchWriter, frame: number, fields: readonly FieldValue[]): void {
  const encoded = fields.map(encodeField);
  let inner = 0;
  for (let field = 1; field < encoded.length; field++) inner += fieldLength(encoded[field]);
  writer.reserve(inner + FRAME_OVERHEAD);
  writer.byte((frame << 3) | 2);
  writer.varint(inner);
  for (let field = 1; field < encoded.length; field++) {
    const value = encoded[field];
    if (Array.isArray(value)) for (const item of value) writeField(writer, field, item);
    else if (value !== undefined) writeField(writer, field, value);
  }
}

function writeField(writer: BatchWriter, field: number, value: number | Uint8Array): void {
  if (typeof value === "number") {
    writer.byte(field << 3);
    writer.varint(value);
  } else {
    writer.byte((field << 3) | 2);
    writer.varint(value.length);
    writer.bytes(value);
  }
}

function encodeField(value: FieldValue): EncodedField {
  if (value === undefined || value === false || value === 0 || value === "") return undefined;
  if (value === true) return 1;
  if (typeof value === "number") return value;
  if (typeof value === "string") return Buffer.from(value, "utf8");
  if (isBytes(value)) return value.length === 0 ? undefined : value;
  if (value.length === 0) return undefined;
  return isTexts(value) ? value.map((text) => Buffer.from(text, "utf8")) : packed(value);
}

/** For bytes of any realm: those of Node.js are of the main one. */
function isBytes(value: Uint8Array | readonly unknown[]): value is Uint8Array {
  return ArrayBuffer.isView(value);
}

function isTexts(list: readonly number[] | readonly string[]): list is readonly string[] {
  return typeof list[0] === "string";
}

function fieldLength(value: EncodedField): number {
  if (value === undefined) return 0;
  if (typeof value === "number") return 1 + varintLength(value);
  if (Array.isArray(value)) return value.reduce((sum, text) => sum + fieldLength(text), 0);
  return 1 + varintLength(value.length) + value.length;
}

function packed(numbers: readonly number[]): Uint8Array {
  const short = new Uint8Array(numbers.length);
  for (let index = 0; index < numbers.length; index++) {
    const number = numbers[index] ?? 0;
    if (number > 0x7f) return packedLong(numbers);
    short[index] = number;
  }
  return short;
}

function packedLong(numbers: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (const number of numbers) {
    let rest = number;
    while (rest > 0x7f) {
      bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    bytes.push(rest);
  }
  return new Uint8Array(bytes);
}
