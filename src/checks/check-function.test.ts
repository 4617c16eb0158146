import { expect, test } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { checkFunction } from "./check-function.ts";

test("functions and classes pass, anything else is named", () => {
  for (const value of [() => 1, async () => 1, class Job {}]) {
    expect(() => checkFunction(value, "it()", "a function")).not.toThrow();
  }
  for (const value of [5, "x", null, undefined, {}, []]) {
    expect(() => checkFunction(value, "it()", "a function")).toThrow(InvalidArgument);
  }
  expect(() => checkFunction("x", "it()", "a function to run")).toThrow('it() takes a function to run, not "x"');
});
