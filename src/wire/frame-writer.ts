import type { BatchWriter } from "./batch-writer.ts";
import { varintLength } from "./batch-writer.ts";

/** The value of a field. `undefined` leaves the field out. */
export type FieldValue = number | boolean | string | Uint8Array | readonly number[] | undefined;

const FRAME_OVERHEAD = 32;

/**
 * Writes a frame with an id and one payload, the shape of almost everything that travels: `{ 1: id, [payloadField]: payload }`.
 */
export function writePayloadFrame(
  writer: BatchWriter,
  frame: number,
  id: number,
  payloadField: number,
  payload: Uint8Array,
): void {
  const inner = 1 + varintLength(id) + 1 + varintLength(payload.length) + payload.length;
  writer.reserve(inner + FRAME_OVERHEAD);
  writer.byte((frame << 3) | 2);
  writer.varint(inner);
  writer.byte(0x08);
  writer.varint(id);
  writer.byte((payloadField << 3) | 2);
  writer.varint(payload.length);
  writer.bytes(payload);
}

/** Writes a frame of any shape. Fields that are absent, zero, false or empty are left out, as proto3 asks. */
export function writeFrame(writer: BatchWriter, frame: number, fields: readonly FieldValue[]): void {
  const encoded = fields.map(encodeField);
  let inner = 0;
  for (let field = 1; field < encoded.length; field++) inner += fieldLength(encoded[field]);
  writer.reserve(inner + FRAME_OVERHEAD);
  writer.byte((frame << 3) | 2);
  writer.varint(inner);
  for (let field = 1; field < encoded.length; field++) {
    const value = encoded[field];
    if (value === undefined) continue;
    if (typeof value === "number") {
      writer.byte(field << 3);
      writer.varint(value);
    } else {
      writer.byte((field << 3) | 2);
      writer.varint(value.length);
      writer.bytes(value);
    }
  }
}

function encodeField(value: FieldValue): number | Uint8Array | undefined {
  if (value === undefined || value === false || value === 0 || value === "") return undefined;
  if (value === true) return 1;
  if (typeof value === "number") return value;
  if (typeof value === "string") return Buffer.from(value, "utf8");
  if (value instanceof Uint8Array) return value.length === 0 ? undefined : value;
  return value.length === 0 ? undefined : packed(value);
}

function fieldLength(value: number | Uint8Array | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === "number") return 1 + varintLength(value);
  return 1 + varintLength(value.length) + value.length;
}

function packed(numbers: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (const number of numbers) {
    let rest = number;
    while (rest > 0x7f) {
      bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    bytes.push(rest);
  }
  return Uint8Array.from(bytes);
}
