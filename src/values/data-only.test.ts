import { EventEmitter } from "node:events";
import { types } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { copyPayload, functionPort, NotData, ValueDecoder, ValueEncoder } from "./index.ts";
import { isEngineStack } from "./slots/engine-stack.ts";

const decoder = new ValueDecoder(functionPort(), { dataOnly: true });

function encoded(value: unknown): Buffer {
  const encoder = new ValueEncoder(functionPort());
  return Buffer.from(copyPayload(encoder.encodeInParts(value)));
}

/** Values in which functions are known, unknown, inherited, referred to again and held in every kind of object. */
const samples = [
  [Object.create(process.abort), 1, "two", { three: [4n, null] }],
  [Object.create(EventEmitter.prototype), Object.create(EventEmitter.prototype)],
  Object.create({ then: 1, inner: Object.create(Array.prototype) }),
  {
    map: new Map([[{ a: 1 }, new Set([Object.create(Error.prototype)])]]),
    date: new Date(0),
    error: new TypeError("t"),
  },
  [() => 1, Math.max, class A {}, Symbol.iterator],
  [new Uint8Array(20), /x/g, new URL("http://a/b"), { toString: process.abort }],
].map(encoded);

/** The first function that can be reached from the value, without the methods of classes. */
function functionIn(value: unknown, seen = new Set<unknown>()): unknown {
  if (typeof value === "function") return value;
  if (typeof value !== "object" || value === null || seen.has(value)) return undefined;
  seen.add(value);
  const held: unknown[] = [];
  for (const key of Reflect.ownKeys(value)) {
    const property = Reflect.getOwnPropertyDescriptor(value, key);
    // Newer engines give errors an accessor for their stack.
    if (property === undefined || isEngineStack(property)) continue;
    held.push(property.value, property.get, property.set);
  }
  // An object that only inherits from one is none.
  if (types.isMap(value)) held.push(...Map.prototype.entries.call(value));
  if (types.isSet(value)) held.push(...Set.prototype.values.call(value));
  const prototype: unknown = Reflect.getPrototypeOf(value);
  if (!isOfClass(prototype)) held.push(prototype);
  for (const each of held) {
    const found = functionIn(each, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isOfClass(prototype: unknown): boolean {
  if (typeof prototype !== "object" || prototype === null) return false;
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  return typeof maker === "function" && maker.prototype === prototype;
}

describe("where only data is taken", () => {
  it("no bytes make a value that holds a function", () => {
    const change = fc.tuple(
      fc.nat({ max: 400 }),
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom("set", "add", "cut"),
    );
    const changes = fc.array(change, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.constantFrom(...samples), fc.constantFrom(...samples), changes, (sample, other, list) => {
        let bytes = sample;
        for (const [at, byte, how] of list) {
          const place = at % bytes.length;
          const middle = how === "cut" ? other.subarray(1, 1 + (byte % other.length)) : [byte];
          bytes = Buffer.concat([
            bytes.subarray(0, place),
            Buffer.from(middle),
            bytes.subarray(place + (how === "set" ? 1 : 0)),
          ]);
        }
        let value: unknown;
        try {
          value = decoder.decode(bytes);
        } catch {
          return;
        }
        expect(functionIn(value)).toBe(undefined);
      }),
      { numRuns: 20_000 },
    );
  });

  it("a class is none, however it is referred to again", () => {
    for (const value of [
      [Object.create(process.abort), process.abort],
      [Object.create(EventEmitter.prototype), EventEmitter],
      { a: [Object.create({ b: EventEmitter })] },
    ]) {
      expect(() => decoder.decode(encoded(value))).toThrow(NotData);
    }
    expect(decoder.decode(encoded([Object.create(EventEmitter.prototype)]))).toEqual([expect.any(EventEmitter)]);
  });
});
