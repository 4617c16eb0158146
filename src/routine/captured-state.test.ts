import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { dismantle } from "../functions/index.ts";
import { capturedState } from "./captured-state.ts";
import { routine } from "./routine.ts";

/** Whether the state of a function that captured the value is constant. */
function isConstant(value: unknown): boolean {
  return !capturedState(typeof value === "function" ? value : () => value).isMutable;
}

describe("isMutable", () => {
  it.each([1, "text", null, undefined, true, 10n, Symbol.iterator, Number.NaN])("primitive %s", (value) => {
    expect(isConstant(value)).toBe(true);
  });

  it("frozen data, all the way down", () => {
    expect(isConstant(Object.freeze({ a: 1, b: Object.freeze([1, "x", Object.freeze({})]) }))).toBe(true);
    expect(isConstant(Object.freeze(Object.assign(Object.create(null), { a: 1 })))).toBe(true);
    expect(isConstant(Object.freeze({ a: [] }))).toBe(false);
    expect(isConstant({ a: 1 })).toBe(false);
    expect(isConstant([])).toBe(false);
    expect(isConstant(Object.seal({ a: 1 }))).toBe(false);
  });

  it("of frozen data that code only reads: what it leads to may change", () => {
    const inner = { limit: 1 };
    const settings = Object.freeze({ inner, name: "x" });
    const state = capturedState(() => settings.inner.limit);
    expect(state.isUnchanged()).toBe(true);
    inner.limit = 2;
    expect(state.isUnchanged()).toBe(false);
  });

  it("not what freezing does not fix", () => {
    class Counter {
      #count = 0;
      next() {
        return ++this.#count;
      }
    }
    for (const value of [new Map(), new Set(), new Date(), new Counter(), /x/g]) {
      expect(isConstant(Object.freeze(value))).toBe(false);
    }
  });

  it("looks at properties with symbols for names", () => {
    expect(isConstant(Object.freeze({ [Symbol("s")]: {} }))).toBe(false);
  });

  it("runs no accessor, and does not take its result for the value", () => {
    let runs = 0;
    const value = Object.freeze({
      get now() {
        runs++;
        return 1;
      },
    });
    expect(isConstant(value)).toBe(false);
    expect(runs).toBe(0);
  });

  it("what both sides have anyway", () => {
    expect(isConstant(Math)).toBe(true);
    expect(isConstant(Array.prototype.map)).toBe(true);
    expect(isConstant(readFileSync)).toBe(true);
  });

  it("functions by what they captured", () => {
    const limit = 5;
    const frozen = Object.freeze({ limit });
    const list: number[] = [];
    let count = 0;
    const inner = () => limit + frozen.limit;
    expect(isConstant(() => 1)).toBe(true);
    expect(isConstant(() => inner() + limit)).toBe(true);
    expect(isConstant(() => list.push(1))).toBe(false);
    expect(isConstant(() => () => list.push(1))).toBe(false);
    expect(isConstant(() => ++count)).toBe(false);
  });

  it("not data that all code only reads", () => {
    const settings = { scale: 2, nested: { most: 5 } };
    const reader = () => settings.nested.most;
    const writer = () => {
      settings.nested.most = 1;
    };
    expect(isConstant(() => settings.scale + reader())).toBe(true);
    expect(isConstant(() => [settings.scale, writer()])).toBe(false);
    expect(isConstant(() => [reader(), writer()])).toBe(false);
    expect(isConstant(() => [writer(), reader()])).toBe(false);
    const holder = { settings };
    expect(isConstant(() => [reader(), holder])).toBe(false);
    expect(isConstant(() => [holder, reader()])).toBe(false);
  });

  it("functions that refer to each other", () => {
    const even = (n: number): boolean => n === 0 || odd(n - 1);
    const odd = (n: number): boolean => n !== 0 && even(n - 1);
    expect(isConstant(even)).toBe(true);
    expect(even(4)).toBe(true);
  });

  it("routines by what they are made of", () => {
    const state = { calls: 0 };
    expect(isConstant(routine(async () => 1))).toBe(true);
    expect(isConstant(routine(async () => state.calls))).toBe(true);
    expect(isConstant(routine(async () => state.calls++))).toBe(false);
  });

  it("frozen cycles", () => {
    const a: { self?: unknown } = {};
    a.self = a;
    expect(isConstant(Object.freeze(a))).toBe(true);
  });
});

describe("isUnchanged", () => {
  /** A helper like those of libraries that extend classes. */
  const replace = (target: object, key: string, value: unknown): void => void Reflect.set(target, key, value);

  it("sees what is done to plain data, however deep", () => {
    const settings = { limit: 1, names: ["a"], nested: { scale: 1 } };
    const fn = () => settings;
    for (const change of [
      () => (settings.limit = 2),
      () => settings.names.push("b"),
      () => (settings.nested.scale = 3),
      () => (settings.nested = { scale: 3 }),
      () => replace(settings, "added", 1),
      () => Object.freeze(settings),
    ]) {
      const state = capturedState(fn);
      expect(state.isUnchanged()).toBe(true);
      change();
      expect(state.isUnchanged(), String(change)).toBe(false);
    }
  });

  it("sees what is done to maps, sets, dates, bytes and instances", () => {
    class Point {
      x = 1;
    }
    const [map, set, date, point] = [new Map([["a", {}]]), new Set([1]), new Date(0), new Point()];
    const [bytes, floats] = [Buffer.alloc(1000), new Float64Array(2)];
    const fn = () => [map, set, date, point, bytes, floats];
    for (const change of [
      () => (bytes[999] = 1),
      () => (floats[0] = 0.5),
      () => map.set("a", {}),
      () => map.set("b", {}),
      () => set.add(2),
      () => date.setTime(5),
      () => (point.x = 2),
    ]) {
      const state = capturedState(fn);
      expect(state.isUnchanged()).toBe(true);
      change();
      expect(state.isUnchanged(), String(change)).toBe(false);
    }
  });

  it("sees what is done to regular expressions, URLs and headers", () => {
    const expression = /a/g;
    const [url, params, headers] = [new URL("http://a/b"), new URLSearchParams("a=1"), new Headers({ a: "1" })];
    const formats = [new Intl.NumberFormat("en"), new TextEncoder(), new String("a")];
    const fn = () => [expression, url, params, headers, formats];
    for (const change of [
      () => expression.exec("a"),
      () => expression.compile("b", "g"),
      () => (url.pathname = "/c"),
      () => params.append("b", "2"),
      () => headers.set("b", "2"),
    ]) {
      const state = capturedState(fn);
      expect(state.isUnchanged()).toBe(true);
      change();
      expect(state.isUnchanged(), String(change)).toBe(false);
    }
  });

  it("sees what is done to a prototype that is no class's, and to one with a tag", () => {
    const parent = { area: () => 1 };
    class Tagged {
      size = 1;
      get [Symbol.toStringTag]() {
        return "Tagged";
      }
    }
    const [child, tagged] = [Object.create(parent), new Tagged()];
    const fn = () => [child, tagged];
    for (const change of [() => replace(parent, "area", () => 2), () => (tagged.size = 2)]) {
      const state = capturedState(fn);
      expect(state.isUnchanged()).toBe(true);
      change();
      expect(state.isUnchanged(), String(change)).toBe(false);
    }
  });

  it("sees a method that a helper replaced, and a property that it gave to a function", () => {
    class Shape {
      area(): number {
        return 1;
      }
    }
    const helper = (): number => 1;
    const fn = () => [new Shape().area(), helper()];
    expect(capturedState(fn).isMutable).toBe(false);
    for (const change of [
      () => replace(Shape.prototype, "area", () => 2),
      () => replace(Shape, "kind", "shape"),
      () => replace(helper, "cache", {}),
    ]) {
      const state = capturedState(fn);
      expect(state.isUnchanged()).toBe(true);
      change();
      expect(state.isUnchanged(), String(change)).toBe(false);
    }
  });

  it("sees what is done to plain data that the code only reads", () => {
    const settings = { limit: 1, names: ["a"], nested: { scale: 1 } };
    const fn = () => settings.limit * settings.nested.scale * settings.names.length;
    for (const change of [
      () => (settings.limit = 2),
      () => settings.names.push("b"),
      () => (settings.nested.scale = 3),
      () => (settings.nested = { scale: 3 }),
      () => Object.defineProperty(settings, "limit", { get: () => 2 }),
    ]) {
      const state = capturedState(fn);
      expect(state.isUnchanged()).toBe(true);
      change();
      expect(state.isUnchanged(), String(change)).toBe(false);
    }
  });

  it("sees what weak collections hold for the objects that travel with them", () => {
    const [key, other, value] = [{ name: "key" }, {}, { count: 1 }];
    const map = new WeakMap<object, unknown>([[key, value]]);
    const set = new WeakSet<object>();
    const fn = () => [map, set, key];
    for (const change of [
      () => map.set(key, 2),
      () => map.delete(key),
      () => map.set(key, value),
      () => (value.count = 2),
      () => map.set(value, 1),
      () => set.add(key),
      () => set.delete(key),
    ]) {
      const state = capturedState(fn);
      expect(state.isUnchanged(), String(change)).toBe(true);
      change();
      expect(state.isUnchanged(), String(change)).toBe(false);
    }
    const state = capturedState(fn);
    map.set(other, 1);
    expect(state.isUnchanged()).toBe(true);
  });

  it("runs no accessor", () => {
    const runs: number[] = [];
    const value = {
      get now() {
        runs.push(1);
        return 1;
      },
    };
    expect(capturedState(() => value).isUnchanged()).toBe(true);
    expect(runs).toEqual([]);
  });

  it("does not tell for what cannot be compared", () => {
    const buffer = new ArrayBuffer(8);
    const long = new Uint8Array(100_000);
    const shared = new Uint8Array(new SharedArrayBuffer(8));
    const extended = Object.assign(new Uint8Array(8), { unit: "m" });
    for (const value of [buffer, long, shared, extended]) {
      expect(capturedState(() => value).isUnchanged()).toBe(false);
    }
  });

  it("reads a variable that is assigned to, also once it has been sent often", () => {
    let count = 0;
    const fn = () => count;
    const up = () => {
      count += 1;
    };
    expect(capturedState(fn).isMutable).toBe(false);
    for (const sent of [1, 60]) {
      for (let times = 0; times < sent; times += 1) dismantle(fn);
      const state = capturedState(fn);
      expect(state.isUnchanged()).toBe(true);
      up();
      expect(state.isUnchanged()).toBe(false);
    }
    expect(capturedState(up).isMutable).toBe(true);
  });
});
