import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SerializationError } from "../errors.ts";
import { copyPayload, PayloadParts } from "./bytes/payload-parts.ts";
import { decode, encode } from "./codec.ts";
import { isSerializer } from "./serializer.ts";
import { ValueDecoder } from "./value-decoder.ts";
import { ValueEncoder } from "./value-encoder.ts";

describe("ValueEncoder", () => {
  it("gives bytes that are good until the next use, and encode() bytes of their own", () => {
    const encoder = new ValueEncoder();
    const first = encoder.encode("first value");
    const copy = Uint8Array.from(first);
    encoder.encode("second");
    expect(first).not.toEqual(copy);
    const own = encode("first value");
    encode("second");
    expect(own).toEqual(copy);
  });

  it("keeps a payload that is asked to stay, large or small", () => {
    const encoder = new ValueEncoder();
    for (const size of [10, 100_000, 5_000_000]) {
      const payload = encoder.keep(encoder.encode(Buffer.alloc(size, 1)));
      const before = Buffer.from(payload);
      encoder.encode(Buffer.alloc(size, 2));
      expect(before.equals(payload)).toBe(true);
    }
  });

  it("encodes a list like any other array", () => {
    const encoder = new ValueEncoder();
    const self: unknown[] = [1, { a: "b" }, undefined];
    self.push(self);
    expect(copyPayload(encoder.encodeList(self)).equals(encode(self))).toBe(true);
    expect(() => encoder.encodeList([1, { bad: new Promise(() => {}) }], "args")).toThrow(
      expect.objectContaining({ path: "args[1].bad" }),
    );
  });

  it("encodes primitive values and short lists of them as any other value", () => {
    const [encoder, decoder] = [new ValueEncoder(), new ValueDecoder()];
    const numbers = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -0, 127, 128, -1, 2 ** 31, 2 ** 53));
    const others = fc.oneof(fc.string({ maxLength: 40 }), fc.boolean(), fc.bigInt(), fc.constantFrom(null, undefined));
    fc.assert(
      fc.property(fc.array(fc.oneof(numbers, others), { maxLength: 17 }), (values) => {
        const usual = encode(values);
        expect(copyPayload(encoder.encodeList(values)).equals(usual)).toBe(true);
        expect(isDeepStrictEqual(decoder.decode(usual), values)).toBe(true);
        const [first] = values;
        const alone = Buffer.from(encoder.encode(first));
        expect(alone.subarray(1).equals(encode([first]).subarray(2))).toBe(true);
        expect(isDeepStrictEqual(decoder.decode(alone), first)).toBe(true);
      }),
    );
    const held = new WeakSet([{}]);
    decoder.decode(encoder.encode(held));
    expect([encoder.weakCollections, decoder.weakCollections].map(({ length }) => length)).toEqual([1, 1]);
    decoder.decode(encoder.encode(1));
    expect([encoder.weakCollections, decoder.weakCollections].map(({ length }) => length)).toEqual([0, 0]);
  });

  it("leaves large binary data where it is when asked for parts, which make up the same bytes", () => {
    const large = fc.integer({ min: 60_000, max: 70_000 }).map((length) => Buffer.alloc(length, length));
    const small = fc.uint8Array({ maxLength: 100 });
    const value = fc.array(fc.oneof(large, small, fc.string(), fc.float()), { maxLength: 6 });
    const encoder = new ValueEncoder();
    fc.assert(
      fc.property(value, (values) => {
        const flat = encode(values);
        const [payload, list] = [encoder.encodeInParts(values), encoder.encodeList(values)];
        const left = values.filter(
          (each): each is Buffer<ArrayBuffer> => Buffer.isBuffer(each) && each.length >= 65_536,
        );
        expect(payload instanceof PayloadParts).toBe(left.length > 0);
        expect(payload.length).toBe(flat.length);
        if (payload instanceof PayloadParts) {
          // Every other part is written bytes. Those may be as large, when many smaller ones come together.
          const parts = payload.parts.filter((_part, index) => index % 2 === 1);
          expect(parts.length).toBe(left.length);
          expect(parts.every(({ buffer }, index) => buffer === left[index]?.buffer)).toBe(true);
        }
        expect(copyPayload(encoder.encodeInParts(values)).equals(flat)).toBe(true);
        expect(copyPayload(list).length).toBe(flat.length);
      }),
      { numRuns: 50 },
    );
  });

  it("forgets what it left where it was when something else could not travel", () => {
    const encoder = new ValueEncoder();
    const bytes = Buffer.alloc(100_000);
    expect(() => encoder.encodeInParts([bytes, new Promise(() => {})])).toThrow(SerializationError);
    expect(copyPayload(encoder.encodeInParts(["after"])).equals(encode(["after"]))).toBe(true);
    expect(encoder.encodeInParts(["after"])).toBeInstanceOf(Uint8Array);
  });

  it("encodes values of many megabytes after and before small ones", () => {
    const encoder = new ValueEncoder();
    const decoder = new ValueDecoder();
    for (const value of ["small", "x".repeat(5_000_000), [1, 2], Buffer.alloc(3_000_000, 7), { a: 1 }]) {
      expect(isDeepStrictEqual(decoder.decode(encoder.encode(value)), value)).toBe(true);
    }
  });

  it("writes repeated keys once", () => {
    const row = { identifier: 1, description: "text" };
    const one = encode([row]).length;
    const many = encode(Array.from({ length: 101 }, () => ({ ...row }))).length;
    expect((many - one) / 100).toBeLessThan(10);
    const rows = [{ a: 1, b: { c: 1 } }, { a: 2, b: { c: 2 } }, { b: 1, a: 2 }, { a: 1 }, {}, {}];
    expect(decode(encode(rows))).toEqual(rows);
    const shapes = Array.from({ length: 40 }, (_, index) => ({ [`key${index % 20}`]: index, both: 1 }));
    expect(decode(encode(shapes))).toEqual(shapes);
  });

  it("names the value by default", () => {
    expect(() => encode(new Promise(() => {}))).toThrow(SerializationError);
    expect(() => encode(new Promise(() => {}))).toThrow(/^value: a Promise/);
  });
});

describe("isSerializer", () => {
  it("wants both methods", () => {
    expect(isSerializer({ dumps: encode, loads: decode })).toBe(true);
    expect(isSerializer({ dumps: encode })).toBe(false);
    expect(isSerializer(undefined)).toBe(false);
  });
});
