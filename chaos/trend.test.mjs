import { describe, expect, test } from "vitest";
import { boundFor, findGrowth, growthOf } from "./trend.mjs";

const steady = Array.from({ length: 40 }, (_, i) => 100 + (i % 3));
const growing = Array.from({ length: 40 }, (_, i) => 100 + i * 2 + (i % 3));

describe("growth", () => {
  test("is what is added after the warm-up", () => {
    expect(growthOf(Array.from({ length: 41 }, (_, i) => i * 2))).toBe(60);
    expect(Math.abs(growthOf(steady))).toBeLessThan(1);
    expect(growthOf(growing)).toBeGreaterThan(50);
  });

  test("does not count the warm-up, and is not moved by a sample that is off", () => {
    expect(growthOf([0, 50, 90, 100, 100, 100, 100, 100, 100, 100, 100, 100])).toBe(0);
    expect(growthOf([...steady.slice(0, 39), 1e6])).toBeLessThan(1);
  });

  test("cannot be seen in too few samples", () => {
    expect(() => growthOf([1, 2])).toThrow(/too few/);
  });
});

test("only what grew beyond its bound is found", () => {
  const found = findGrowth(
    { "caller heap": growing, "worker 1 heap": steady, "caller descriptors": steady },
    { heap: 10, descriptors: 0 },
  );
  expect(found.map(({ name }) => name)).toEqual(["caller heap"]);
  expect(found[0]).toMatchObject({ bound: 10 });
  expect(() => boundFor("caller time", { heap: 1 })).toThrow(/no bound/);
});
