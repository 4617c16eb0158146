import { BatchWriter } from "./batch-writer.ts";
import { MalformedFrame } from "./frame-reader.ts";

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const MAX_VARINT_BYTES = 10;
const MAX_TAG = 0xffff_ffffn;
const MAX_TAG_BYTES = 5;
/** `timeout_ms`, a varint, the only field of its message. */
const STOP_TIMEOUT_TAG = (1 << 3) | VARINT;
/** A longer time than this, about 140,000 years, means no limit. */
const LONGEST_STOP_MS = 2 ** 52;
/** `metadata`, a string. */
const DESCRIBE_METADATA_TAG = (1 << 3) | BYTES;
/** `seconds`, a double. */
const IDLE_SECONDS_TAG = (1 << 3) | FIXED64;

/** Encodes `StopRequest`. Infinite and negative timeouts mean: wait for all. */
export function encodeStopRequest(timeout: number): Uint8Array {
  const isLimited = timeout >= 0 && timeout < LONGEST_STOP_MS;
  const ms = isLimited ? Math.ceil(timeout) : -1;
  const writer = new BatchWriter(0);
  if (ms === 0) return new Uint8Array(0);
  writer.reserve(16);
  writer.byte(0x08);
  writer.varint(ms < 0 ? -ms * 2 - 1 : ms * 2);
  return Uint8Array.from(writer.take());
}

/** The timeout of a `StopRequest`, in milliseconds; negative for none. Throws {@link MalformedFrame} for other bytes. */
export function readStopRequest(bytes: Uint8Array): number {
  let timeout = 0n;
  readField(bytes, STOP_TIMEOUT_TAG, (start) => {
    const { value } = readVarint(bytes, start);
    timeout = value % 2n === 0n ? value / 2n : -(value + 1n) / 2n;
  });
  return Number(timeout);
}

/** Encodes `IdleResponse`. */
export function encodeIdleResponse(seconds: number): Uint8Array {
  const bytes = new Uint8Array(9);
  bytes[0] = 0x09;
  new DataView(bytes.buffer).setFloat64(1, seconds, true);
  return bytes;
}

/** The seconds of an `IdleResponse`. Throws {@link MalformedFrame} for other bytes. */
export function readIdleResponse(bytes: Uint8Array): number {
  let seconds = 0;
  readField(bytes, IDLE_SECONDS_TAG, (start) => {
    seconds = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat64(start, true);
  });
  return seconds;
}

/** Encodes `DescribeResponse`. */
export function encodeDescribeResponse(metadata: string): Uint8Array {
  const text = Buffer.from(metadata, "utf8");
  const writer = new BatchWriter(0);
  writer.reserve(16);
  writer.byte(DESCRIBE_METADATA_TAG);
  writer.varint(text.length);
  return Buffer.concat([writer.take(), text]);
}

/** The metadata of a `DescribeResponse`. Throws {@link MalformedFrame} for other bytes. */
export function readDescribeResponse(bytes: Uint8Array): string {
  let metadata = "";
  readField(bytes, DESCRIBE_METADATA_TAG, (start) => {
    const { value, end } = readVarint(bytes, start);
    metadata = Buffer.from(bytes.subarray(end, end + Number(value))).toString("utf8");
  });
  return metadata;
}

/**
 * Finds the values of the only known field. Other fields are skipped, as protobuf requires. The known field with
 * another type is an error: if it were skipped, it would mean 0, and a stop with 0 cancels everything.
 */
function readField(bytes: Uint8Array, known: number, take: (start: number) => void): void {
  let position = 0;
  while (position < bytes.length) {
    const { value, end: start } = readVarint(bytes, position);
    if (value >> 3n === 0n || value > MAX_TAG) throw new MalformedFrame(`field number ${value >> 3n}`);
    if (start - position > MAX_TAG_BYTES) throw new MalformedFrame("field number of more than five bytes");
    const tag = Number(value);
    position = fieldEnd(bytes, tag & 7, start);
    if (position > bytes.length) throw new MalformedFrame("field reaches past its message");
    if (tag === known) take(start);
    else if (tag >>> 3 === known >>> 3) throw new MalformedFrame(`field ${known >>> 3} of wire type ${tag & 7}`);
  }
}

function fieldEnd(bytes: Uint8Array, type: number, start: number): number {
  if (type === VARINT) return readVarint(bytes, start).end;
  if (type === FIXED64) return start + 8;
  if (type === FIXED32) return start + 4;
  if (type !== BYTES) throw new MalformedFrame(`wire type ${type}`);
  const { value, end } = readVarint(bytes, start);
  return end + Number(value);
}

/** An integer of 64 bits: `FrameReader` accepts none beyond 2^53. */
function readVarint(bytes: Uint8Array, start: number): { value: bigint; end: number } {
  let value = 0n;
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    const byte = bytes[start + i];
    if (byte === undefined) throw new MalformedFrame("truncated integer");
    value |= BigInt(byte & 0x7f) << BigInt(7 * i);
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), end: start + i + 1 };
  }
  throw new MalformedFrame("integer of more than ten bytes");
}
