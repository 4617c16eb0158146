import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  copyPayload,
  decode,
  encode,
  MalformedPayload,
  type PayloadSource,
  readSharedPayload,
  type SharedPayload,
  sharedParts,
  ValueDecoder,
} from "./index.ts";

const decoder = new ValueDecoder();

function sourceOf(bytes: Uint8Array): PayloadSource {
  return { length: bytes.length, read: (target, at) => target.set(bytes.subarray(at, at + target.length)) };
}

function sharedCopy(value: unknown): SharedPayload {
  return readSharedPayload(sourceOf(Uint8Array.from(encode(value))));
}

/** The value as seen by a thread that shares its memory with others. */
function seen<T>(value: T): T {
  return decoder.decodeShared(sharedCopy(value)) as T;
}

const sizes = fc.constantFrom(0, 1, 7, 16_383, 16_384, 20_001);
const views = fc.oneof(
  sizes.map((size) => new Uint8Array(size).map((_, i) => i)),
  sizes.map((size) => Buffer.alloc(size, 3)),
  sizes.map((size) => new Float64Array(size).fill(0.5)),
  sizes.map((size) => new Uint16Array(new ArrayBuffer(size * 2 + 8), 4, size).fill(9)),
  sizes.map((size) => new DataView(new ArrayBuffer(size))),
);
const values = fc.array(fc.oneof(views, fc.jsonValue(), fc.date({ noInvalidDate: true })), { maxLength: 8 });

describe("a payload in memory that threads share", () => {
  it("is the same bytes, and the same value", () => {
    fc.assert(
      fc.property(values, (value) => {
        const bytes = Uint8Array.from(encode(value));
        const payload = readSharedPayload(sourceOf(bytes));
        expect(Buffer.compare(copyPayload(sharedParts(payload)), bytes)).toBe(0);
        expect(decode(encode(decoder.decodeShared(payload)))).toEqual(value);
      }),
    );
  });

  it("has large binary data in it, which every thread that decodes it sees", () => {
    const payload = sharedCopy({ large: new Uint8Array(20_000), small: new Uint8Array(8) });
    const [one, other] = [decoder.decodeShared(payload), decoder.decodeShared(payload)] as [
      Record<"large" | "small", Uint8Array>,
      Record<"large" | "small", Uint8Array>,
    ];
    one.large[5] = 1;
    one.small[5] = 1;
    expect([other.large[5], other.small[5]]).toEqual([1, 0]);
    for (const view of [one.large, one.small]) {
      expect(view.buffer).toBeInstanceOf(SharedArrayBuffer);
      expect([view.byteOffset, view.buffer.byteLength]).toEqual([0, view.length]);
    }
  });

  it("keeps views on one buffer together, and makes a buffer what it was", () => {
    const buffer = new ArrayBuffer(40_000);
    const { whole, part } = seen({ whole: buffer, part: new Uint8Array(buffer, 100, 50) });
    expect(part.buffer).toBe(whole);
    expect([part.byteOffset, part.length, whole.byteLength]).toEqual([100, 50, 40_000]);
    const copy = decode(encode({ whole, part })) as { whole: ArrayBuffer; part: Uint8Array };
    expect(copy.whole).toBeInstanceOf(ArrayBuffer);
    expect(copy.part.buffer).toBe(copy.whole);
  });

  it("is refused when it is cut or its table is wrong, without more than MalformedPayload", () => {
    const bytes = Uint8Array.from(encode([new Uint8Array(30_000), "text"]));
    fc.assert(
      fc.property(
        fc.nat({ max: bytes.length }),
        fc.nat({ max: bytes.length - 1 }),
        fc.nat({ max: 255 }),
        (end, at, byte) => {
          const broken = bytes.slice(0, end);
          if (at < end) broken[at] = byte;
          try {
            decoder.decodeShared(readSharedPayload(sourceOf(broken)));
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedPayload);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("a shared value", () => {
  class Row {
    readonly id = 1;
    tags = ["a"];
  }
  const mutators: [string, (value: ReturnType<typeof make>) => unknown][] = [
    ["a property", (value) => (value.plain.n = 2)],
    ["a new property", (value) => Object.assign(value.plain, { more: 1 })],
    ["an element", (value) => value.list.push(1)],
    ["a nested element", (value) => value.row.tags.push("b")],
    ["an entry of a Map", (value) => value.map.set("b", 2)],
    ["all entries", (value) => value.map.clear()],
    ["an entry that is there", (value) => value.map.delete("a")],
    ["an item of a Set", (value) => value.set.add(2)],
    ["a Date", (value) => value.date.setTime(1)],
    ["a field of an Error", (value) => (value.error.message = "other")],
    ["a prototype", (value) => Object.setPrototypeOf(value.plain, null)],
  ];
  function make() {
    return {
      plain: { n: 1, deep: { x: 1 } },
      list: [1, 2, 3],
      numbers: Array.from({ length: 20 }, (_, i) => i + 0.5),
      map: new Map<string, unknown>([["a", { inMap: 1 }]]),
      set: new Set([1]),
      date: new Date(5),
      row: new Row(),
      error: new Error("text"),
      global: /a/g,
      math: Math,
    };
  }

  it.each(mutators)("cannot be changed: %s", (_name, mutate) => {
    const value = seen(make());
    expect(() => mutate(value)).toThrow(TypeError);
    expect(value.row).toBeInstanceOf(Row);
    expect(value.map.get("a")).toEqual({ inMap: 1 });
    expect(Object.isFrozen(value.map.get("a"))).toBe(true);
  });

  it("leaves alone what was here before, and what use changes by itself", () => {
    const value = seen(make());
    expect(value.math).toBe(Math);
    expect(Object.isFrozen(Math)).toBe(false);
    expect(Object.isFrozen(Row.prototype)).toBe(false);
    expect("banana".replaceAll(value.global, "o")).toBe("bonono");
    expect(value.global.test("a")).toBe(true);
  });

  it("travels on as what it was, without what keeps it from being changed", () => {
    const { map, set, date } = decode(encode(seen(make()))) as ReturnType<typeof make>;
    for (const each of [map, set, date]) expect(Object.getOwnPropertyNames(each)).toEqual([]);
    map.set("b", 2);
    expect([...map.keys()]).toEqual(["a", "b"]);
  });

  it("may have been frozen before", () => {
    const map = Object.freeze(new Map([["a", 1]]));
    expect(seen({ map }).map.get("a")).toBe(1);
  });
});
