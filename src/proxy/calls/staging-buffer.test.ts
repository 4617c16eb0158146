import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StagingBuffer } from "./staging-buffer.ts";

describe("StagingBuffer", () => {
  it("keeps all that was stored, whatever is stored after it", () => {
    const length = fc.oneof(
      fc.nat(40),
      fc.nat(2000),
      fc.constantFrom(0, 31, 32, 33, 64 * 1024, 64 * 1024 + 1, 150_000),
    );
    fc.assert(
      fc.property(fc.array(length, { maxLength: 40 }), (lengths) => {
        const staging = new StagingBuffer();
        const source = new Uint8Array(150_000);
        const stored = lengths.map((length, i) => {
          source.fill(i + 1, 0, length);
          staging.store(source.subarray(0, length));
          const { slab, start, end } = staging;
          return { slab, start, end, length, value: i + 1 };
        });
        for (const { slab, start, end, length, value } of stored) {
          expect(end - start).toBe(length);
          expect(slab.subarray(start, end).every((byte) => byte === value)).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("keeps what belongs together side by side", () => {
    const lengths = fc.array(fc.oneof(fc.nat(40), fc.nat(20_000)), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(lengths, { maxLength: 10 }), (groups) => {
        const staging = new StagingBuffer();
        const stored = groups.map((group, i) => {
          staging.begin();
          for (const [j, length] of group.entries()) staging.append(new Uint8Array(length).fill(i + j + 1));
          const { slab, start, end } = staging;
          return { bytes: slab.subarray(start, end), group, i };
        });
        for (const { bytes, group, i } of stored) {
          const expected = Buffer.concat(group.map((length, j) => new Uint8Array(length).fill(i + j + 1)));
          expect(expected.equals(bytes)).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("puts many small ones into one slab, one behind the other", () => {
    const staging = new StagingBuffer();
    const { slab } = staging;
    for (let i = 0; i < 1000; i++) {
      staging.store(Uint8Array.of(i, i));
      expect([staging.start, staging.end]).toEqual([2 * i, 2 * i + 2]);
    }
    expect(staging.slab).toBe(slab);
  });

  it("shares no memory with anything else, since it is handed on", () => {
    const staging = new StagingBuffer();
    expect(staging.slab.buffer.byteLength).toBe(staging.slab.length);
    staging.store(new Uint8Array(100_000));
    expect(staging.slab.buffer.byteLength).toBe(100_000);
  });
});
