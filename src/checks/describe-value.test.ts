import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeValue } from "./check-options.ts";

describe("describeValue", () => {
  it("names values shortly", () => {
    class Point {}
    const values: [unknown, string][] = [
      ["a", '"a"'],
      ["x".repeat(100), `"${"x".repeat(40)}…"`],
      [-0, "-0"],
      [Number.NaN, "NaN"],
      [10n, "10"],
      [null, "null"],
      [undefined, "undefined"],
      [Symbol("s"), "Symbol(s)"],
      [[1], "an array"],
      [{}, "an object"],
      [Object.create(null), "an object"],
      [new Point(), "a Point"],
      [function named() {}, "the function named"],
      [() => 1, "a function"],
    ];
    for (const [value, text] of values) expect(describeValue(value)).toBe(text);
  });

  it("never fails, whatever it is given", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true }), (value) => {
        expect(describeValue(value).length).toBeGreaterThan(0);
      }),
    );
    expect(describeValue({ constructor: { name: 5 } })).toBe("an object");
    expect(describeValue({ constructor: null })).toBe("an object");
  });
});
