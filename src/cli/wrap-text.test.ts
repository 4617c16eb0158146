import fc from "fast-check";
import { expect, it } from "vitest";
import { wrapText } from "./format-explanation.ts";

it("breaks between words, and leaves longer ones whole", () => {
  expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapText("extraordinary one", 5)).toEqual(["extraordinary", "one"]);
  expect(wrapText("one two", Number.POSITIVE_INFINITY)).toEqual(["one two"]);
  expect(wrapText("", 5)).toEqual([]);
});

it("keeps all words, and lines to the width", () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1 });
  fc.assert(
    fc.property(words, fc.integer({ min: 8, max: 40 }), (list, width) => {
      const lines = wrapText(list.join(" "), width);
      expect(lines.join(" ")).toBe(list.join(" "));
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    }),
  );
});
