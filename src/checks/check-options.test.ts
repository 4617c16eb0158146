import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { checkFunction, checkOption, checkOptions, describeValue, nearestName } from "./check-options.ts";
import * as must from "./checks.ts";

describe("checkOptions", () => {
  it("checks against any table", () => {
    const table = { even: (value: unknown) => (Number(value) % 2 === 0 ? undefined : "even") };
    expect(() => checkOptions({ even: 2 }, table, "f()")).not.toThrow();
    expect(() => checkOptions({ even: 3 }, table, "f()")).toThrow(/^f\(\): option "even" must be even, not 3$/);
  });

  it("names the options that there are, or the one that was meant", () => {
    const table = { size: must.wholeNumber(0), tags: must.texts };
    expect(() => checkOptions({ sise: 3 }, table, "f()")).toThrow('f() has no option "sise"; did you mean "size"?');
    expect(() => checkOptions({ workers: 3 }, table, "f()")).toThrow('f() has no option "workers"; it has size, tags');
  });
});

test("checkOption names the option and the value", () => {
  expect(() => checkOption(4, must.wholeNumber(1, 8), "Ring", "points")).not.toThrow();
  expect(() => checkOption(9, must.wholeNumber(1, 8), "Ring", "points")).toThrow(
    new InvalidArgument('Ring: option "points" must be a whole number from 1 to 8, not 9'),
  );
});

test("functions and classes pass checkFunction, anything else is named", () => {
  for (const value of [() => 1, async () => 1, class Job {}]) {
    expect(() => checkFunction(value, "it()", "a function")).not.toThrow();
  }
  for (const value of [5, "x", null, undefined, {}, []]) {
    expect(() => checkFunction(value, "it()", "a function")).toThrow(InvalidArgument);
  }
  expect(() => checkFunction("x", "it()", "a function to run")).toThrow('it() takes a function to run, not "x"');
});

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

it.each([
  ["explian", "explain"],
  ["Explain", "explain"],
  ["wroker", "worker"],
  ["sto", "stop"],
  ["dashbord", "dashboard"],
])("%s most likely means %s", (wanted, meant) => {
  expect(nearestName(wanted, ["worker", "stop", "explain", "dashboard"])).toBe(meant);
});

it("finds nothing among names that are not alike", () => {
  expect(nearestName("bench", ["worker", "stop", "explain"])).toBeUndefined();
  expect(nearestName("x", [])).toBeUndefined();
});
