import { expect, it } from "vitest";
import { functionState } from "../functions/index.ts";
import { RoutineSpec } from "./routine-spec.ts";

it("reads variables by accessors from its second capture on when it consists of many functions", () => {
  let total = 0;
  const steps = Array.from({ length: 20 }, (_, index) => () => index);
  const add = (): number => total + steps.length;
  const few = (): number => total;
  const seen = (fn: () => number): boolean => functionState(fn).variables !== undefined;
  const specs = [add, few].map((fn) => new RoutineSpec(fn, {}, false));
  for (const spec of specs) {
    spec.route();
    spec.route();
  }
  expect([seen(add), seen(few)]).toEqual([true, false]);
  const [before] = specs.map((spec) => spec.route());
  total += 1;
  expect(specs[0]?.route()).not.toBe(before);
});
