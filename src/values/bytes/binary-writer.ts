import { ALIGNMENT, maxByteLengthOf, RESIZABLE, WHOLE, WINDOWS } from "./binary-layout.ts";
import type { ByteWriter } from "./byte-writer.ts";

/** More bytes than the lengths, offsets and padding of one window need. */
const OVERHEAD = 32;

interface Window {
  readonly from: number;
  to: number;
}

interface Source {
  readonly buffer: ArrayBufferLike;
  readonly index: number;
  whole: boolean;
  /** All views so far are `Buffer`s. They need not share an `ArrayBuffer` after they travel. */
  loose: boolean;
  unit: number;
  readonly windows: Window[];
}

/** Collects the binary data of a payload, which is written at its end when all views on it are known. */
export class BinaryWriter {
  #sources = new Map<ArrayBufferLike, Source>();

  get isEmpty(): boolean {
    return this.#sources.size === 0;
  }

  clear(): void {
    this.#sources = new Map();
  }

  /** Adds all of `buffer` and returns its number. */
  whole(buffer: ArrayBufferLike): number {
    const source = this.#source(buffer);
    source.whole = true;
    return source.index;
  }

  /** Adds a part of `buffer` and returns the number of the buffer. */
  window(buffer: ArrayBufferLike, from: number, length: number, unit: number, loose: boolean): number {
    const source = this.#source(buffer);
    source.windows.push({ from, to: from + length });
    source.loose &&= loose;
    source.unit = Math.max(source.unit, unit);
    return source.index;
  }

  write(writer: ByteWriter): void {
    const start = writer.position;
    const stored = [...this.#sources.values()].map(storedForm);
    if (!writer.leavesLarge) writer.reserve(stored.reduce((size, { windows }) => size + sizeOf(windows), OVERHEAD));
    writer.varint(stored.length);
    for (const form of stored) writeEntry(writer, form);
    writer.align(ALIGNMENT);
    const data = writer.position;
    for (const { buffer, windows } of stored) {
      for (const { from, to } of windows) {
        writer.align(ALIGNMENT);
        writer.raw(new Uint8Array(buffer, from, to - from));
      }
    }
    writer.float64(start);
    writer.float64(data);
  }

  #source(buffer: ArrayBufferLike): Source {
    let source = this.#sources.get(buffer);
    if (source === undefined) {
      source = { buffer, index: this.#sources.size, whole: false, loose: true, unit: 1, windows: [] };
      this.#sources.set(buffer, source);
    }
    return source;
  }
}

/** The parts of a buffer that go into the payload, and how. */
interface StoredForm {
  readonly buffer: ArrayBufferLike;
  readonly kind: number;
  readonly limit: number;
  readonly windows: readonly Window[];
}

function storedForm(source: Source): StoredForm {
  const { buffer } = source;
  const limit = maxByteLengthOf(buffer);
  const all = [{ from: 0, to: buffer.byteLength }];
  if (limit !== undefined) return { buffer, kind: RESIZABLE, limit, windows: all };
  const windows = source.whole ? undefined : windowsOf(source);
  return windows === undefined
    ? { buffer, kind: WHOLE, limit: 0, windows: all }
    : { buffer, kind: WINDOWS, limit: 0, windows };
}

function sizeOf(windows: readonly Window[]): number {
  return windows.reduce((size, { from, to }) => size + to - from + OVERHEAD, OVERHEAD);
}

function writeEntry(writer: ByteWriter, { kind, limit, windows }: StoredForm): void {
  writer.byte(kind);
  if (kind === RESIZABLE) writer.varint(limit);
  if (kind === WINDOWS) writer.varint(windows.length);
  for (const { from, to } of windows) {
    if (kind === WINDOWS) writer.varint(from);
    writer.varint(to - from);
  }
}

/** The parts of the buffer that travel, in ascending order; undefined for the whole buffer as one. */
function windowsOf(source: Source): Window[] | undefined {
  const sorted = source.windows.toSorted((a, b) => a.from - b.from);
  const merged: Window[] = [];
  for (const window of sorted) {
    const last = merged.at(-1);
    // Views other than Buffers stay views on one buffer, so the bytes between them travel too.
    if (last !== undefined && (window.from < last.to || !source.loose)) last.to = Math.max(last.to, window.to);
    else merged.push({ from: window.from - (window.from % source.unit), to: window.to });
  }
  const only = merged.length === 1 ? merged[0] : undefined;
  const all = only !== undefined && only.from === 0 && only.to === source.buffer.byteLength;
  return all && !source.loose ? undefined : merged;
}
