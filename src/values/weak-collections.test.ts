import { describe, expect, it } from "vitest";
import { SerializationError } from "../errors.ts";
import { ValueDecoder } from "./value-decoder.ts";
import { ValueEncoder } from "./value-encoder.ts";
import { NO_COLLECTIONS, type WeakCollection } from "./weak-collections.ts";

const encoder = new ValueEncoder();
const decoder = new ValueDecoder();

function copy<T>(value: T, weak?: readonly WeakCollection[]): T {
  const bytes = Uint8Array.from(encoder.encodeInParts(value, "value", weak) as Uint8Array);
  return decoder.decode(bytes) as T;
}

describe("weak collections", () => {
  it("get entries for the objects that are in the payload, and for no others", () => {
    const map = new WeakMap<object, string>();
    const set = new WeakSet<object>();
    const [one, two] = [{ n: 1 }, { n: 2 }];
    map.set(one, "one").set(two, "two");
    set.add(one);
    const back = copy({ map, set, one });
    // In their original process the collections are the originals.
    expect(back.map).toBe(map);
    expect(back.set).toBe(set);
    expect(back.one).not.toBe(one);
    expect([map.get(back.one), set.has(back.one)]).toEqual(["one", true]);
    expect(encoder.weakCollections).toEqual([map, set]);
    expect(decoder.weakCollections).toEqual([map, set]);
  });

  it("that are given to the encoder need not be in the value", () => {
    const map = new WeakMap<object, number>();
    const key = {};
    map.set(key, 5);
    const [back] = copy([key], [map]);
    expect(map.get(back ?? {})).toBe(5);
    const [unknown] = copy([key]);
    expect(map.has(unknown ?? {})).toBe(false);
    expect(decoder.weakCollections).toBe(NO_COLLECTIONS);
  });

  it("follow entries whose values bring more keys, in circles and in other collections", () => {
    const names = new WeakMap<object, { parent: object }>();
    const marks = new WeakSet<object>();
    const [a, b, c] = [{}, {}, {}];
    names.set(a, { parent: b }).set(b, { parent: c }).set(c, { parent: a });
    marks.add(c);
    const back = copy(a, [names, marks]);
    const parents = [back];
    for (let left = 3; left > 0; left--) parents.push(names.get(parents.at(-1) ?? {})?.parent ?? {});
    expect(parents[3]).toBe(back);
    expect(new Set(parents).size).toBe(3);
    expect(parents.map((parent) => marks.has(parent))).toEqual([false, false, true, false]);
  });

  it("find a key wherever it is in the payload, before and after the collection, and among many objects", () => {
    const map = new WeakMap<object, number>();
    const list = Array.from({ length: 500 }, (_, i) => ({ i }));
    for (const key of list) map.set(key, key.i);
    let deep: { next?: object; key?: object } = { key: list[7] ?? {} };
    for (let i = 0; i < 300; i++) deep = { next: deep };
    const back = copy({ before: list.slice(0, 250), map, after: list.slice(250), deep });
    expect([...back.before, ...back.after].map((key) => map.get(key))).toEqual(list.map(({ i }) => i));
    let end: { next?: object; key?: object } = back.deep;
    while (end.next !== undefined) end = end.next;
    expect(end.key).toBe(back.before[7]);
  });

  it("may have functions, classes and unique symbols as keys where the engine takes them", () => {
    const map = new WeakMap<object, string>();
    map.set(Math.max, "intrinsic");
    const back = copy([Math.max, map] as const);
    expect(back[1].get(back[0])).toBe("intrinsic");
  });

  it("of a subclass keep their class and are asked without it", () => {
    class Counted extends WeakMap<object, number> {
      asked = 0;

      override has(key: object): boolean {
        this.asked += 1;
        return super.has(key);
      }
    }
    const counted = new Counted();
    const key = {};
    counted.set(key, 1);
    const back = copy([counted, key] as const);
    expect(back[0]).toBe(counted);
    expect([counted.get(back[1]), counted.asked]).toEqual([1, 0]);
  });

  it("name the key whose value cannot travel", () => {
    const map = new WeakMap<object, unknown>();
    const key = {};
    map.set(key, new WeakRef({}));
    expect(() => encoder.encodeList([1, { key }], "args", [map])).toThrow(
      expect.objectContaining({
        path: "args[1].key -> its value in a WeakMap",
        message: expect.stringMatching(/a WeakRef points into the memory of this process/),
      }),
    );
    expect(() => copy({ map }, [])).not.toThrow(SerializationError);
  });

  it("cost nothing in a payload without them", () => {
    expect(Uint8Array.from(encoder.encode({ a: 1 }))[0]).toBe(0x10);
  });
});
