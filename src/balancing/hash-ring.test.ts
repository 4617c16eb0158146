import fc from "fast-check";
import { expect, it } from "vitest";
import { hashText } from "./hash-ring.ts";

it("is the same in every version: callers of different ones agree on it", () => {
  expect([hashText(""), hashText("key"), hashText("ключ"), hashText("key", 7)]).toEqual([
    2872998923, 979252733, 3185335672, 1375451895,
  ]);
});

it("is a 32-bit number, and another one for each seed", () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.nat(), (text, one, other) => {
      const hash = hashText(text, one);
      expect(Number.isInteger(hash) && hash >= 0 && hash < 2 ** 32).toBe(true);
      if (one !== other) expect(hashText(text, other)).not.toBe(hash);
    }),
  );
});

it("spreads similar texts", () => {
  const buckets = new Array<number>(16).fill(0);
  for (let i = 0; i < 16_000; i++) {
    const bucket = hashText(`w-${i}`) >>> 28;
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  expect(Math.min(...buckets)).toBeGreaterThan(850);
  expect(Math.max(...buckets)).toBeLessThan(1150);
});
