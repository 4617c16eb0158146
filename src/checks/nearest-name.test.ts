import { expect, it } from "vitest";
import { nearestName } from "./check-options.ts";

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
