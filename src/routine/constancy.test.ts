import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isConstant } from "./constancy.ts";
import { routine } from "./routine.ts";

describe("isConstant", () => {
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
    expect(isConstant(() => list.length)).toBe(false);
    expect(isConstant(() => () => list.length)).toBe(false);
    expect(isConstant(() => ++count)).toBe(false);
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
    expect(isConstant(routine(async () => state.calls))).toBe(false);
  });

  it("frozen cycles", () => {
    const a: { self?: unknown } = {};
    a.self = a;
    expect(isConstant(Object.freeze(a))).toBe(true);
  });
});
