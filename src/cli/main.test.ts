import { expect, it } from "vitest";
import { colour, wantsColour } from "./command.ts";

it.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { NO_COLOR: "" }, true],
  [true, { TERM: "dumb" }, false],
  [false, { FORCE_COLOR: "1" }, true],
  [false, { FORCE_COLOR: "" }, true],
  [true, { FORCE_COLOR: "0" }, false],
  [false, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
])("on a terminal: %s, with %o, writes colours: %s", (isTerminal, env, expected) => {
  expect(wantsColour(isTerminal, env)).toBe(expected);
});

it("colours whatever the output is", () => {
  expect(colour("bad", "no")).toBe("\u001B[31mno\u001B[39m");
});
