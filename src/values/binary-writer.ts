import { ALIGNMENT, maxByteLengthOf, RESIZABLE, WHOLE, WINDOWS } from "./binary-layout.ts";
import type { ByteWriter } from "./byte-writer.ts";

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
