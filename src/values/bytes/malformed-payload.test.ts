import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { encode } from "../codec.ts";
import type { FunctionPort } from "../function-port.ts";
import { ValueDecoder } from "../value-decoder.ts";
import { MalformedPayload } from "./malformed-payload.ts";
import type { PayloadSource } from "./payload-data.ts";
import {
  ARRAY,
  ASCII_STRING,
  BACK_REFERENCE,
  BIGINT,
  FORMAT,
  HAS_BINARY,
  HAS_REFERENCES,
  LATER_ARRAY,
  NULL,
  OBJECT,
  RECORD,
  SEGMENT,
  SHORT_ARRAY,
  SHORT_OBJECT,
  SHORT_STRING,
  SPECIAL_OBJECT,
  TRAVELLER,
  UTF16_STRING,
} from "./tags.ts";

// Properties are tried many times, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

/** Refuses code: these tests are about the codec, not about what code could do. */
const noFunctions: FunctionPort = {
  dismantle: () => {
    throw new MalformedPayload("no functions");
  },
  assemble: () => {
    throw new MalformedPayload("no functions");
  },
  findKnown: () => undefined,
  referenceOf: () => undefined,
  noteConstructor: () => {},
  notePrototype: () => {},
  refuseSymbol: () => {},
  privatesOf: () => [],
  restorePrivates: () => {},
};
const decoder = new ValueDecoder(noFunctions);

function expectValueOrMalformed(bytes: Uint8Array, owned: boolean): void {
  for (const decode of [
    () => decoder.decode(bytes, 0, bytes.length, { owned }),
    () => decoder.decodeFrom(sourceOf(bytes)),
  ]) {
    try {
      decode();
    } catch (error) {
      if (!(error instanceof MalformedPayload)) throw error;
    }
  }
}

/** The bytes as if they were in a file. */
function sourceOf(bytes: Uint8Array): PayloadSource {
  return {
    length: bytes.length,
    read(target, at) {
      if (at < 0 || at + target.length > bytes.length) throw new MalformedPayload("the file is shorter");
      target.set(bytes.subarray(at, at + target.length));
    },
  };
}

const shared = { shared: true };
const bytes = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
const samples: unknown[] = [
  { id: 1, name: "a name", tags: ["a", "b"], nested: { deep: [shared, shared] }, text: "x".repeat(50), é: 2.5 },
  [
    1,
    ,
    3,
    -5,
    2 ** 40,
    NaN,
    7n ** 60n,
    -3n,
    undefined,
    null,
    true,
    false,
    "日本語",
    Symbol.iterator,
    Symbol.for("a"),
    Symbol(),
  ],
  new Map<unknown, unknown>([
    [shared, new Set([shared, 1, "two"])],
    ["k", new Date(0)],
  ]),
  [
    new RegExp("a+", "giv"),
    Object("boxed"),
    Object(5n),
    Object.freeze({ a: [1] }),
    Object.create(null),
    Object.create({ a: 1 }),
  ],
  new AggregateError([new TypeError("a"), new DOMException("b", "AbortError")], "c", { cause: shared }),
  [bytes, new Float64Array(bytes.buffer, 8, 1), new DataView(bytes.buffer, 3), Buffer.from("hello"), bytes.buffer],
  [new URL("http://example.test/a?b=c#d"), new URLSearchParams("a=1&a=2"), new Headers({ a: "b" })],
  Reflect.construct(ArrayBuffer, [8, { maxByteLength: 64 }]),
  Array.from({ length: 150 }).reduce<unknown>((inner) => [{ inner }], "bottom"),
  Object.assign(
    Array.from({ length: 40 }, (_, index) => index),
    { extra: 1 },
  ),
];
const payloads = samples.map((sample) => encode(sample));

function trailer(table: number, data: number): Uint8Array {
  return new Uint8Array(Float64Array.of(table, data).buffer);
}

describe("hostile bytes", () => {
  it("random bytes give a value or MalformedPayload", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(3), fc.boolean(), (random, flags, owned) => {
        expectValueOrMalformed(Uint8Array.from([FORMAT | flags, ...random]), owned);
        expectValueOrMalformed(random, owned);
      }),
      { numRuns: 20_000 },
    );
  });

  it("altered payloads give a value or MalformedPayload", () => {
    const change = fc.record({
      at: fc.nat(),
      to: fc.oneof(fc.nat(255), fc.constantFrom(0xff, 0x80, 0xc0, 0xcf, 0xd4)),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...payloads),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (payload, changes, owned) => {
          const altered = Uint8Array.from(payload);
          for (const { at, to } of changes) altered[at % altered.length] = to;
          expectValueOrMalformed(altered, owned);
        },
      ),
      { numRuns: 30_000 },
    );
  });

  it("spliced payloads give a value or MalformedPayload", () => {
    const piece = fc.record({ payload: fc.constantFrom(...payloads), from: fc.nat(), length: fc.nat(40) });
    fc.assert(
      fc.property(
        fc.constantFrom(...payloads),
        fc.nat(),
        piece,
        fc.nat(10),
        (payload, at, { payload: other, from, length }, cut) => {
          const position = 1 + (at % payload.length);
          const start = from % other.length;
          const spliced = [
            ...payload.subarray(0, position),
            ...other.subarray(start, start + length),
            ...payload.subarray(position + cut),
          ];
          expectValueOrMalformed(Uint8Array.from(spliced), false);
        },
      ),
      { numRuns: 10_000 },
    );
  });

  it("every truncation is noticed", () => {
    for (const payload of payloads) {
      for (let length = 0; length < payload.length; length++) {
        expect(() => decoder.decode(payload, 0, length), `${length} of ${payload.length}`).toThrow(MalformedPayload);
      }
    }
  });

  it("bytes after the value are noticed", () => {
    for (const payload of payloads) {
      expect(() => decoder.decode(Uint8Array.from([...payload, 0]))).toThrow(MalformedPayload);
    }
  });

  const huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
  it.each([
    ["an array of 2^32 elements", [FORMAT, ARRAY, ...huge]],
    ["a deferred array of 2^32 elements", [FORMAT, LATER_ARRAY, ...huge]],
    ["an object of 2^32 properties", [FORMAT, OBJECT, ...huge]],
    ["a string of 2^32 characters", [FORMAT, ASCII_STRING, ...huge, 65]],
    ["a UTF-16 string longer than the payload", [FORMAT, UTF16_STRING, 200, 1, 65]],
    ["a bigint of 2^32 digits", [FORMAT, BIGINT, 0, ...huge, 65]],
    ["a length of more than 2^53", [FORMAT, ARRAY, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]],
    ["a reference to nothing", [FORMAT | HAS_REFERENCES, BACK_REFERENCE, 5]],
    [
      "a segment that refers to what is before it",
      [FORMAT | HAS_REFERENCES, SHORT_ARRAY | 1, SEGMENT, BACK_REFERENCE, 0],
    ],
    [
      "a segment that uses keys from before it",
      [FORMAT, SHORT_ARRAY | 2, SHORT_OBJECT | 1, SHORT_STRING, 1, SEGMENT, RECORD, 1],
    ],
    ["a reference without the header saying so", [FORMAT, SHORT_ARRAY | 1, BACK_REFERENCE, 0]],
    [
      "a plain object that sets __proto__",
      [FORMAT, SHORT_OBJECT | 1, SHORT_STRING | 9, ...Buffer.from("__proto__"), NULL],
    ],
    ["a key that is not a string", [FORMAT, SHORT_OBJECT | 1, 1, 1]],
    ["an unknown tag", [FORMAT, 0xff]],
    ["an unknown kind of object", [FORMAT, SPECIAL_OBJECT, 0xff, 0, 0]],
    ["an unknown traveller", [FORMAT, TRAVELLER, SHORT_STRING | 1, 65]],
    ["an unknown format", [0xf0, NULL]],
    ["a binary section outside of the payload", [FORMAT | HAS_BINARY, 1, ...trailer(100, 200)]],
    ["a binary section before the payload", [FORMAT | HAS_BINARY, 1, 0, ...trailer(0, 1)]],
    ["binary data before its table", [FORMAT | HAS_BINARY, 1, 0, 0, ...trailer(3, 2)]],
    ["a payload that is too short for a trailer", [FORMAT | HAS_BINARY, 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f]],
    ["binary data that is longer than the payload", [FORMAT | HAS_BINARY, 1, 1, 0, 100, 0, 0, 0, ...trailer(2, 8)]],
    ["binary data that nobody knows of", [FORMAT | HAS_BINARY, 1, 1, 0, 0, 0, 0, 0, 7, 7, ...trailer(2, 8)]],
    ["an array of 2^32 holes and elements past its end", [FORMAT, SPECIAL_OBJECT, 1, 0, 0, ...huge, 1, ...huge, 1]],
    [
      "a typed array that is frozen",
      [FORMAT | HAS_BINARY, SPECIAL_OBJECT, 10, 2, 0x60, 0, 0, 3, 1, 0, 2, 0, 0, 0, 0, 0, 7, 7, ...trailer(8, 16)],
    ],
    ["nothing", []],
  ])("refuses %s", (_what, payload) => {
    expect(() => decoder.decode(Uint8Array.from(payload))).toThrow(MalformedPayload);
  });

  it("refuses nesting that would exhaust the stack", () => {
    for (const tag of [SHORT_ARRAY | 1, SEGMENT]) {
      const nested = new Uint8Array(100_000).fill(tag);
      nested[0] = FORMAT;
      expect(() => decoder.decode(nested)).toThrow(MalformedPayload);
    }
  });

  it("does not reserve memory for holes", () => {
    const before = process.memoryUsage().heapUsed;
    const holes = [SPECIAL_OBJECT, 1, 0, 0, 0x80, 0x80, 0x80, 0x08, 0];
    const many = decoder.decode(
      Uint8Array.from([FORMAT, ARRAY, 200, 1, ...Array.from({ length: 200 }, () => holes).flat()]),
    );
    expect(many).toHaveLength(200);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
  });

  it("goes on working after a malformed payload", () => {
    expect(() => decoder.decode(Uint8Array.from([FORMAT, SHORT_ARRAY | 2, 1]))).toThrow(MalformedPayload);
    expect(decoder.decode(encode([shared, shared]))).toEqual([shared, shared]);
  });
});
