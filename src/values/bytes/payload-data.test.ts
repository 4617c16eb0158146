import { describe, expect, it } from "vitest";
import { encode } from "../codec.ts";
import { ValueDecoder } from "../value-decoder.ts";
import type { PayloadSource } from "./payload-data.ts";

const decoder = new ValueDecoder();

/** A payload outside of memory that counts the reads and the bytes read. */
function sourceOf(value: unknown): PayloadSource & { reads: number; bytesRead: number } {
  const payload = encode(value);
  return {
    length: payload.length,
    reads: 0,
    bytesRead: 0,
    read(target, at) {
      expect(at + target.length).toBeLessThanOrEqual(payload.length);
      this.reads++;
      this.bytesRead += target.length;
      target.set(payload.subarray(at, at + target.length));
    },
  };
}

function pattern(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + seed) & 255);
}

describe("a payload outside of memory", () => {
  it("has its large binary data read once, to where it stays", () => {
    const data = pattern(300_000, 1);
    const source = sourceOf({ name: "x", data });
    const copy = decoder.decodeFrom(source) as { name: string; data: Uint8Array };
    expect(copy.name).toBe("x");
    expect(Buffer.compare(copy.data, data)).toBe(0);
    expect([copy.data.byteOffset, copy.data.buffer.byteLength]).toEqual([0, data.length]);
    expect(source.bytesRead).toBeLessThanOrEqual(source.length + 20);
  });

  it("keeps every kind of view, and buffers that are shared", () => {
    const memory = new ArrayBuffer(400_000);
    new Uint8Array(memory).set(pattern(400_000, 2));
    const value = {
      all: new Uint8Array(memory),
      part: new Float64Array(memory, 8000, 1000),
      view: new DataView(memory, 3, 100),
      memory,
      slice: Buffer.from(pattern(200_000, 3).buffer, 1000, 150_000),
      empty: new Uint8Array(0),
    };
    const copy = decoder.decodeFrom(sourceOf(value)) as typeof value;
    expect(copy).toEqual(value);
    expect(copy.all.buffer).toBe(copy.memory);
    expect(copy.part.buffer).toBe(copy.memory);
    expect([copy.part.byteOffset, copy.view.byteOffset]).toEqual([8000, 3]);
  });

  it("keeps a resizable buffer", () => {
    const memory: ArrayBuffer = Reflect.construct(ArrayBuffer, [200_000, { maxByteLength: 500_000 }]);
    new Uint8Array(memory).set(pattern(200_000, 4));
    const copy = decoder.decodeFrom(sourceOf(memory)) as ArrayBuffer;
    expect(Buffer.compare(new Uint8Array(copy), new Uint8Array(memory))).toBe(0);
    expect(Reflect.get(copy, "maxByteLength")).toBe(500_000);
  });

  it("with many small pieces, or none, is read as a whole", () => {
    const small = Array.from({ length: 5000 }, (_, i) => pattern(30, i).slice());
    for (const value of [small, "x".repeat(100_000), { list: Array.from({ length: 50_000 }, (_, i) => i) }]) {
      const source = sourceOf(value);
      expect(decoder.decodeFrom(source)).toEqual(value);
      expect(source.reads).toBeLessThanOrEqual(3);
    }
  });

  it("does not mix with one that is decoded meanwhile, nor with the next one", () => {
    const text = "outer ".repeat(20_000);
    const inner = sourceOf("inner ".repeat(10_000));
    const outer = sourceOf([text, pattern(100_000, 5)]);
    let nested: unknown;
    const read = outer.read.bind(outer);
    outer.read = (target, at) => {
      nested ??= decoder.decodeFrom(inner);
      read(target, at);
    };
    expect(decoder.decodeFrom(outer)).toEqual([text, pattern(100_000, 5)]);
    expect(nested).toBe("inner ".repeat(10_000));
    expect(decoder.decodeFrom(sourceOf("next"))).toBe("next");
  });

  it("that cannot be read fails, and the decoder goes on", () => {
    const broken: PayloadSource = {
      length: 100_000,
      read() {
        throw new Error("gone");
      },
    };
    expect(() => decoder.decodeFrom(broken)).toThrow("gone");
    expect(decoder.decodeFrom(sourceOf([1, 2]))).toEqual([1, 2]);
  });
});
