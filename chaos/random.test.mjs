import { describe, expect, test } from "vitest";
import { Random } from "./random.mjs";

const draw = (random, count = 1000) => Array.from({ length: count }, () => random.fraction());

describe("Random", () => {
  test("is a function of seed and name", () => {
    expect(draw(new Random(7, "a"))).toEqual(draw(new Random(7, "a")));
    expect(draw(new Random(7, "a"))).not.toEqual(draw(new Random(7, "b")));
    expect(draw(new Random(7, "a"))).not.toEqual(draw(new Random(8, "a")));
  });

  test("fills its range evenly", () => {
    const counts = new Array(10).fill(0);
    const random = new Random(1);
    for (let i = 0; i < 10_000; i++) counts[random.integer(0, 9)]++;
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });

  test("integers include both ends", () => {
    const random = new Random(2);
    expect(new Set(Array.from({ length: 200 }, () => random.integer(3, 5)))).toEqual(new Set([3, 4, 5]));
  });

  test("picks by weight, and never what weighs nothing", () => {
    const random = new Random(3);
    const counts = { heavy: 0, light: 0, none: 0 };
    const list = Object.entries({ heavy: 3, none: 0, light: 1 }).map(([name, weight]) => ({ name, weight }));
    for (let i = 0; i < 4000; i++) counts[random.pickWeighted(list).name]++;
    expect(counts.none).toBe(0);
    expect(Math.abs(counts.heavy - 3000)).toBeLessThan(150);
  });

  test("shuffles without losing anything, and leaves the list alone", () => {
    const list = [1, 2, 3, 4, 5, 6, 7, 8];
    const shuffled = new Random(4).shuffle(list);
    expect(shuffled).not.toEqual(list);
    expect(shuffled.toSorted()).toEqual(list);
    expect(list).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("has nothing to pick from an empty list", () => {
    expect(() => new Random(5).pick([])).toThrow(RangeError);
  });
});
