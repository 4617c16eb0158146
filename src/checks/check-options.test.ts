import { describe, expect, it, test } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { checkFunction, checkOption, checkOptions } from "./check-options.ts";
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
