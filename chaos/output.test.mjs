import { expect, test } from "vitest";
import { findCrashes, lastWords } from "./output.mjs";

const output = [
  "[w-1a] uncaught exception outside of any task's promise: Error: as intended",
  "[w-2b] Error: This side has ended",
  "[w-1a]     at somewhere",
  "the caller says something",
  "[w-2b]     at a line",
  "[w-2b] ",
  "[w-2b] Node.js v20.20.2",
  "",
].join("\n");

test("a worker that Node.js ended is found with what it wrote, and no other", () => {
  expect(findCrashes(output)).toEqual(["w-2b:\nError: This side has ended\n    at a line\n\nNode.js v20.20.2"]);
  expect(findCrashes("[w-1a] all is well\n")).toEqual([]);
});

test("the caller's own words are told apart from those of workers", () => {
  expect(lastWords(output)).toBe("the caller says something");
});
