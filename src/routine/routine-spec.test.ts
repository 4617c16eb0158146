import { expect, it } from "vitest";
import { beginCapture, endCapture, functionState } from "../functions/index.ts";
import { RoutineSpec } from "./routine-spec.ts";

/** How many of the functions have variables that can be read, in one capture. */
function readable(functions: readonly (() => number)[]): number {
  beginCapture();
  try {
    return functions.filter((fn) => functionState(fn).variables !== undefined).length;
  } finally {
    endCapture();
  }
}

/** Functions that assign to a variable each. */
const counters = (count: number): (() => number)[] =>
  Array.from({ length: count }, (_, index) => {
    let total = index;
    return () => (total += 1);
  });

it("reads variables by accessors from its second capture on when it consists of many functions", () => {
  const many = counters(20);
  const all = (): number => many.length;
  expect(readable(many)).toBeLessThan(many.length);
  const spec = new RoutineSpec(all, {}, false);
  spec.route();
  const before = spec.route();
  expect(readable(many)).toBe(many.length);
  expect(spec.route()).toBe(before);
  many.at(-1)?.();
  expect(spec.route()).not.toBe(before);
});

it("sees at its second call whether a few variables have changed", () => {
  const few = counters(3);
  const spec = new RoutineSpec(() => few.length, {}, false);
  const before = spec.route();
  expect(spec.route()).toBe(before);
  few[2]?.();
  expect(spec.route()).not.toBe(before);
});
