import { BatchWriter } from "./batch-writer.ts";

/** Encodes `StopRequest`. Infinite and negative timeouts mean: wait for all. */
export function encodeStopRequest(timeout: number): Uint8Array {
  const ms = Number.isFinite(timeout) ? Math.round(timeout) : -1;
  const writer = new BatchWriter(0);
  if (ms === 0) return new Uint8Array(0);
  writer.reserve(16);
  writer.byte(0x08);
  writer.varint(ms < 0 ? -ms * 2 - 1 : ms * 2);
  return Uint8Array.from(writer.take());
}

/** The timeout of a `StopRequest`, in milliseconds; negative for none. */
export function readStopRequest(bytes: Uint8Array): number {
  if (bytes.length === 0 || bytes[0] !== 0x08) return 0;
  let value = 0;
  let scale = 1;
  for (const byte of bytes.subarray(1, 10)) {
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) break;
    scale *= 0x80;
  }
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** Encodes `IdleResponse`. */
export function encodeIdleResponse(seconds: number): Uint8Array {
  const bytes = new Uint8Array(9);
  bytes[0] = 0x09;
  new DataView(bytes.buffer).setFloat64(1, seconds, true);
  return bytes;
}

/** The seconds of an `IdleResponse`. */
export function readIdleResponse(bytes: Uint8Array): number {
  if (bytes.length < 9 || bytes[0] !== 0x09) return 0;
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat64(1, true);
}
