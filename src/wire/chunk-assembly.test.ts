import { describe, expect, it } from "vitest";
import { BatchWriter } from "./batch-writer.ts";
import { ChunkAssembly } from "./chunk-assembly.ts";
import { LimitExceeded } from "./connection-limits.ts";
import { FrameReader } from "./frame-reader.ts";
import { writeFrame } from "./frame-writer.ts";
import { LAST_REQUEST_FIELD, RequestField } from "./index.ts";

const MIB = 1024 * 1024;
const LIMITS = { maxUnfinishedBytes: 8 * MIB, maxUnfinishedPayloads: 100 };

function chunk(id: number, data: Uint8Array, total?: number): FrameReader {
  const writer = new BatchWriter(0);
  writeFrame(writer, RequestField.chunk, [undefined, id, data, total]);
  const bytes = writer.take();
  const reader = new FrameReader(LAST_REQUEST_FIELD).open(bytes, 0, bytes.length);
  reader.next();
  return reader;
}

describe("ChunkAssembly", () => {
  it.each([1, 1000, 70_000, 3 * MIB + 7])("puts %i bytes together, in pieces of any size", (total) => {
    const whole = Buffer.alloc(total).map((_, i) => i % 251);
    for (const size of [total, 128 * 1024, 65_537]) {
      const assembly = new ChunkAssembly(LIMITS);
      for (let at = 0; at < total; at += size) {
        assembly.add(chunk(1, whole.subarray(at, at + size), at === 0 ? total : undefined));
      }
      expect(assembly.take(1, total).equals(whole)).toBe(true);
    }
  });

  it("reserves what has arrived, not what was announced", () => {
    const assembly = new ChunkAssembly(LIMITS);
    // Together these announce 100 times the limit.
    for (let id = 0; id < 100; id++) assembly.add(chunk(id, Buffer.alloc(10), 8 * MIB));
    expect(() => assembly.add(chunk(100, Buffer.alloc(10), 100))).toThrow("more than 100 incomplete payloads");
  });

  it("takes no more unfinished bytes than it may, and has room again for those that are finished or dropped", () => {
    const assembly = new ChunkAssembly(LIMITS);
    assembly.add(chunk(1, Buffer.alloc(5 * MIB), 6 * MIB));
    expect(() => assembly.add(chunk(2, Buffer.alloc(3 * MIB), 3 * MIB))).toThrow("more than 8388608 bytes");
    expect(() => assembly.add(chunk(3, Buffer.alloc(1), 8 * MIB + 1))).toThrow(
      "more than 8388608 bytes in one payload: it has 8388609 (limits.maxUnfinishedBytes)",
    );
    assembly.clear();
    for (let i = 0; i < 5; i++) {
      assembly.add(chunk(1, Buffer.alloc(6 * MIB), 6 * MIB));
      if (i % 2 === 0) assembly.take(1, 6 * MIB);
      else assembly.drop(1);
    }
  });

  it("takes a payload that no buffer can hold for one above the limit, on every version of Node.js", () => {
    const assembly = new ChunkAssembly(LIMITS);
    expect(() => assembly.add(chunk(1, Buffer.alloc(10), 2 ** 50))).toThrow(LimitExceeded);
  });

  it("refuses more than was announced, and the end of what is not complete", () => {
    const assembly = new ChunkAssembly(LIMITS);
    expect(() => assembly.add(chunk(1, Buffer.alloc(10), 9))).toThrow("longer than the 9 bytes");
    expect(() => assembly.add(chunk(2, Buffer.alloc(10), 0))).toThrow("not between 1 and");
    assembly.add(chunk(3, Buffer.alloc(10), 20));
    expect(() => assembly.take(3, 20)).toThrow("has 10 of 20 bytes");
    expect(() => assembly.take(4, 20)).toThrow("has 0 of 20 bytes");
  });
});
