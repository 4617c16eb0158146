import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as must from "./checks.ts";

const { POSITIVE_INFINITY: infinity, NEGATIVE_INFINITY: minusInfinity, NaN: nan } = Number;

const cases: readonly [string, must.Check, readonly unknown[], readonly unknown[], string][] = [
  ["anything", must.anything, [undefined, null, 1, {}], [], ""],
  ["flag", must.flag, [true, false], [0, "true", null], "true or false"],
  ["text", must.text, ["", "a"], [1, null, ["a"]], "a string"],
  ["filledText", must.filledText, ["a", " "], ["", 1], "a string that is not empty"],
  ["texts", must.texts, [[], ["a"]], ["a", [1], { 0: "a" }], "an array of strings"],
  ["textRecord", must.textRecord, [{}, { a: "b" }], [{ a: 1 }, ["a"], null], "an object with strings for values"],
  ["object", must.object, [{}, new Map()], [null, [], "a", () => 1], "an object"],
  ["abortSignal", must.abortSignal, [AbortSignal.abort()], [new AbortController(), {}], "an AbortSignal"],
  ["callable", must.callable(), [() => 1, class {}], [{}, "f"], "a function"],
  ["callable with a role", must.callable("a maker"), [() => 1], [null], "a maker"],
  ["oneOf one", must.oneOf("none"), ["none"], ["gzip", null], '"none"'],
  ["oneOf some", must.oneOf("a", "b", "c"), ["a", "c"], ["d", 1], '"a", "b" or "c"'],
  ["wholeNumber", must.wholeNumber(0), [0, 7, -0], [-1, 0.5, infinity, nan, "1"], "a whole number, zero or more"],
  ["wholeNumber from 2", must.wholeNumber(2), [2, 3], [1, infinity], "a whole number, 2 or more"],
  ["wholeNumber of a range", must.wholeNumber(1, 9), [1, 9], [0, 10, 1.5], "a whole number from 1 to 9"],
  ["limit", must.limit(1), [1, infinity], [0, 1.5, minusInfinity, nan], "a whole number, 1 or more"],
  ["aboveZero", must.aboveZero("megabytes"), [0.5, 8], [0, -1, infinity, nan], "a number of megabytes above zero"],
];

describe("checks", () => {
  it.each(cases)("%s", (_name, check, right, wrong, expected) => {
    for (const value of right) expect(check(value)).toBeUndefined();
    for (const value of wrong) expect(check(value)).toBe(expected);
  });

  it("a duration is 0, a fraction, Infinity or any number that is not negative", () => {
    for (const value of [0, 0.5, 2 ** 31, 1e300, infinity]) expect(must.duration(value)).toBeUndefined();
    fc.assert(fc.property(fc.double(), (value) => (must.duration(value) === undefined) === value >= 0));
    for (const value of ["5", 5n, null, {}])
      expect(must.duration(value)).toBe("a number of milliseconds, zero or more");
  });

  it("a signed duration is any number", () => {
    fc.assert(fc.property(fc.double(), (value) => (must.signedDuration(value) === undefined) === !Number.isNaN(value)));
    for (const value of ["5", 5n, null]) expect(must.signedDuration(value)).toBe("a number of milliseconds");
  });
});
