import { types } from "node:util";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { decode, encode } from "./codec.ts";
import { ValueDecoder } from "./value-decoder.ts";
import { ValueEncoder } from "./value-encoder.ts";

// Properties are tried many times, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const encoder = new ValueEncoder();
const decoder = new ValueDecoder();

function copyOf<T>(value: T): T;
function copyOf(value: unknown): unknown {
  return decoder.decode(encoder.encode(value));
}

/** Says where two graphs differ: in values, identity, order of keys, attributes, prototypes or built-in state. */
function differenceBetween(left: unknown, right: unknown): string | undefined {
  const twins = new Map<unknown, unknown>();
  const taken = new Set<unknown>();
  const todo: [unknown, unknown, string][] = [[left, right, "value"]];
  const compare = (a: unknown, b: unknown, path: string): void => void todo.push([a, b, path]);
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [a, b, path] = next;
    const isReference = (typeof a === "object" && a !== null) || typeof a === "symbol";
    if (!isReference || typeof a !== typeof b || b === null) {
      if (!Object.is(a, b)) return `${path}: ${String(a)} is not ${String(b)}`;
      continue;
    }
    if (twins.has(a) || taken.has(b)) {
      if (twins.get(a) !== b) return `${path}: not the same object as before`;
      continue;
    }
    twins.set(a, b);
    taken.add(b);
    if (typeof a === "symbol" || typeof b === "symbol") {
      if (a !== b && (isShared(a) || String(a) !== String(b))) return `${path}: another symbol`;
      continue;
    }
    if (typeof a !== "object" || typeof b !== "object") return `${path}: another type`;
    const difference = compareObjects(a, b, path, compare);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isShared(symbol: unknown): boolean {
  if (typeof symbol !== "symbol") return false;
  return (
    Symbol.keyFor(symbol) !== undefined ||
    Object.values(Object.getOwnPropertyDescriptors(Symbol)).some((d) => d.value === symbol)
  );
}

type Compare = (a: unknown, b: unknown, path: string) => void;

function compareObjects(a: object, b: object, path: string, compare: Compare): string | undefined {
  const state = stateOf(a);
  const other = stateOf(b);
  if (state.kind !== other.kind) return `${path}: ${state.kind} became ${other.kind}`;
  if (state.parts.length !== other.parts.length)
    return `${path}: ${state.parts.length} parts became ${other.parts.length}`;
  state.parts.forEach((part, index) => compare(part, other.parts[index], `${path}<${index}>`));
  const keys = Reflect.ownKeys(a);
  const otherKeys = Reflect.ownKeys(b);
  if (keys.length !== otherKeys.length)
    return `${path}: keys ${keys.map(String).join()} became ${otherKeys.map(String).join()}`;
  for (const [index, key] of keys.entries()) {
    const otherKey = otherKeys[index] ?? "";
    compare(key, otherKey, `${path}, key`);
    const left = Object.getOwnPropertyDescriptor(a, key);
    const right = Object.getOwnPropertyDescriptor(b, otherKey);
    for (const name of ["value", "get", "set", "writable", "enumerable", "configurable"] as const) {
      compare(left?.[name], right?.[name], `${path}.${String(key)}(${name})`);
    }
  }
  if (Object.isExtensible(a) !== Object.isExtensible(b)) return `${path}: extensible or not`;
  const prototype: unknown = Object.getPrototypeOf(a);
  const otherPrototype: unknown = Object.getPrototypeOf(b);
  if (prototype !== otherPrototype) compare(prototype, otherPrototype, `${path}.__proto__`);
  return undefined;
}

function stateOf(value: object): { kind: string; parts: unknown[] } {
  if (types.isMap(value)) return { kind: "map", parts: [...Map.prototype.entries.call(value)].flat() };
  if (types.isSet(value)) return { kind: "set", parts: [...Set.prototype.values.call(value)] };
  if (types.isDate(value)) return { kind: "date", parts: [value.getTime()] };
  if (types.isRegExp(value)) return { kind: "regexp", parts: [value.source, value.flags] };
  if (types.isNativeError(value)) return { kind: "error", parts: [] };
  if (types.isBoxedPrimitive(value)) return { kind: "box", parts: [value.valueOf()] };
  if (types.isArrayBuffer(value)) return { kind: "buffer", parts: [...new Uint8Array(value)] };
  if (types.isArrayBufferView(value)) {
    return { kind: Object.prototype.toString.call(value), parts: [value.byteLength] };
  }
  return { kind: Array.isArray(value) ? "array" : "object", parts: [] };
}

const anyString = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 })
  .map((codes) => String.fromCharCode(...codes));
const anySymbol = fc.oneof(
  fc.constantFrom(Symbol.iterator, Symbol.asyncIterator, Symbol.toStringTag),
  fc.string().map((name) => Symbol.for(name)),
  fc.constantFrom(Symbol("a"), Symbol("a"), Symbol("b"), Symbol()),
);
const anything = fc.oneof(
  fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withObjectString: true,
  }),
  anyString,
  anySymbol,
  fc.bigInt(),
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.date({ noInvalidDate: false }),
);

/** Objects of every kind that can hold others, linked at random: shared parts and cycles of any shape. */
const anyGraph = fc
  .record({
    kinds: fc.array(fc.nat(9), { minLength: 1, maxLength: 30 }),
    links: fc.array(fc.record({ from: fc.nat(), to: fc.nat(), key: anyString, attributes: fc.nat(7) }), {
      maxLength: 60,
    }),
    leaves: fc.array(fc.record({ to: fc.nat(), value: anything }), { maxLength: 10 }),
    closed: fc.array(fc.record({ node: fc.nat(), how: fc.nat(2) }), { maxLength: 4 }),
  })
  .map(({ kinds, links, leaves, closed }) => {
    const nodes = kinds.map(makeNode);
    const at = (index: number): object => nodes[index % nodes.length] ?? {};
    for (const { from, to, key, attributes } of links) link(at(to), key, at(from), attributes);
    for (const { to, value } of leaves) link(at(to), value, value, 7);
    for (const { node, how } of closed) {
      if (how === 0) Object.preventExtensions(at(node));
      else if (how === 1) Object.seal(at(node));
      else Object.freeze(at(node));
    }
    return nodes[0];
  });

function makeNode(kind: number): object {
  const makers: (() => object)[] = [
    () => ({}),
    () => [],
    () => new Map(),
    () => new Set(),
    () => Object.create(null),
    () => new RangeError("out of range", { cause: "nothing" }),
    () => Object.create({ inherited: true }),
    () => new Date(kind),
    () => /x/gu,
    () => [1, , 3],
  ];
  return makers[kind]?.() ?? {};
}

function link(to: object, key: unknown, value: unknown, attributes: number): void {
  if (types.isMap(to)) to.set(key, value);
  else if (types.isSet(to)) to.add(value);
  else if (Array.isArray(to) && attributes === 7) to.push(value);
  else {
    const name = typeof key === "symbol" ? key : String(typeof key === "object" ? "key" : key);
    if (Object.hasOwn(to, name)) return;
    const flag = (bit: number): boolean => (attributes & bit) !== 0;
    Object.defineProperty(to, name, { value, writable: flag(1), enumerable: flag(2), configurable: flag(4) });
  }
}

describe("the comparison these tests rely on", () => {
  it.each([
    ["-0", 0, -0],
    ["identity", [{}, {}], ((o: object) => [o, o])({})],
    ["order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }],
    ["attributes", { a: 1 }, Object.defineProperty({}, "a", { value: 1 })],
    ["prototypes", {}, Object.create(null)],
    ["holes", [undefined], new Array(1)],
    ["built-in state", new Date(1), new Date(2)],
    ["extensibility", {}, Object.preventExtensions({})],
  ])("sees a difference in %s", (_what, a, b) => {
    expect(differenceBetween(a, b)).toBeDefined();
    expect(differenceBetween(a, a)).toBeUndefined();
  });
});

describe("round trip", () => {
  it("keeps arbitrary values", () => {
    fc.assert(
      fc.property(anything, (value) => {
        expect(differenceBetween(value, copyOf(value))).toBeUndefined();
      }),
      { numRuns: 1500 },
    );
  });

  it("keeps arbitrary graphs: cycles, shared objects, attributes, frozen and sealed objects", () => {
    fc.assert(
      fc.property(anyGraph, (value) => {
        expect(differenceBetween(value, copyOf(value))).toBeUndefined();
      }),
      { numRuns: 1500 },
    );
  });

  it("encodes a copy to the same bytes", () => {
    fc.assert(
      fc.property(anyGraph, (value) => {
        const bytes = encode(value);
        expect(encode(decode(bytes))).toEqual(bytes);
      }),
      { numRuns: 300 },
    );
  });
});

describe("primitives", () => {
  const numbers = [
    0,
    -0,
    1,
    -1,
    63,
    127,
    128,
    -128,
    2 ** 31 - 1,
    2 ** 31,
    -(2 ** 31),
    -(2 ** 31) - 1,
    2 ** 53,
    1.5,
    NaN,
  ];
  it.each([...numbers, Infinity, -Infinity, Number.MIN_VALUE, Number.MAX_VALUE])("keeps the number %d", (value) => {
    expect(copyOf(value)).toBe(value);
  });

  it.each([0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n, -(2n ** 63n) - 1n, 7n ** 500n])(
    "keeps the bigint %d",
    (value) => {
      expect(copyOf(value)).toBe(value);
    },
  );

  it.each([
    ["empty", ""],
    ["31 characters", "x".repeat(31)],
    ["32 characters", "x".repeat(32)],
    ["Latin-1", "é".repeat(40) + "x".repeat(100)],
    ["CJK", "日本語".repeat(50)],
    ["emoji", "🎈".repeat(20)],
    ["a lone surrogate", "x\ud800y"],
    ["a lone surrogate in much ASCII", "x".repeat(100) + "\udfff"],
    ["two megabytes", "0123456789abcdef".repeat(131_072)],
  ])("keeps a string: %s", (_what, value) => {
    expect(copyOf(value)).toBe(value);
  });

  it("keeps symbols, registered, well-known and unique", () => {
    const own = Symbol("own");
    const [iterator, registered, first, second, other] = copyOf([
      Symbol.iterator,
      Symbol.for("x"),
      own,
      own,
      Symbol("own"),
    ]);
    expect(iterator).toBe(Symbol.iterator);
    expect(registered).toBe(Symbol.for("x"));
    expect(first).toBe(own);
    expect(second).toBe(own);
    expect(other).not.toBe(own);
    expect(other?.description).toBe("own");
  });
});

describe("objects", () => {
  it("keeps an own __proto__ as the property it is", () => {
    const value: unknown = JSON.parse('{"__proto__":{"polluted":1},"b":2}');
    const copy = copyOf(value);
    expect(differenceBetween(value, copy)).toBeUndefined();
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  it("keeps arrays with holes, with a long tail of holes, and with other properties", () => {
    const match = /b(?<rest>.)/.exec("abc");
    const sparse: unknown[] = [];
    sparse[3_000_000_000] = "far";
    const hidden = Object.defineProperty([1], "hidden", { value: 2 });
    const long = Object.assign(
      Array.from({ length: 100 }, (_, index) => index),
      { total: 4950 },
    );
    const holey = Array.from({ length: 50 }, (_, index) => index);
    Reflect.deleteProperty(holey, 20);
    for (const value of [match, sparse, new Array(70_000), hidden, long, holey, [, , 1, ,]]) {
      expect(differenceBetween(value, copyOf(value))).toBeUndefined();
    }
  });

  it("keeps long arrays of numbers", () => {
    const fractions = Array.from({ length: 100 }, (_, index) => index / 3);
    for (const value of [
      fractions,
      [...fractions, "x"],
      [...fractions, -0, Number.NaN, 1],
      fractions.map(Math.floor),
      [fractions, fractions],
    ]) {
      expect(differenceBetween(value, copyOf(value))).toBeUndefined();
    }
  });

  it("keeps what hangs on symbols", () => {
    const key = Symbol("key");
    const value = { [key]: 1, [Symbol.for("shared")]: 2, plain: [key] };
    expect(differenceBetween(value, copyOf(value))).toBeUndefined();
  });

  it("keeps 20,000 levels of any kind", () => {
    let value: unknown = "bottom";
    for (let level = 0; level < 20_000; level++) {
      const kind = level % 6;
      if (kind === 0) value = [value];
      else if (kind === 1) value = { value };
      else if (kind === 2) value = new Map([[value, value]]);
      else if (kind === 3) value = new Set([value]);
      else if (kind === 4) value = new Error("level", { cause: value });
      else value = Object.freeze([value]);
    }
    expect(differenceBetween(value, copyOf(value))).toBeUndefined();
  });

  it("keeps that an object inherits from a function", () => {
    const copy = copyOf(Object.create(Function.prototype, { a: { value: 1, enumerable: true } }) as { a: number });
    expect([Object.getPrototypeOf(copy) === Function.prototype, copy.a]).toEqual([true, 1]);
  });

  it("keeps 2,000 prototypes in a row", () => {
    let value: object = {};
    for (let level = 0; level < 2_000; level++) value = Object.create(value);
    expect(differenceBetween(value, copyOf(value))).toBeUndefined();
  });

  it("keeps an array of many objects, some of them the same", () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => ({ index, name: `row ${index}` }));
    const value = [...rows, ...rows];
    expect(differenceBetween(value, copyOf(value))).toBeUndefined();
  });
});
