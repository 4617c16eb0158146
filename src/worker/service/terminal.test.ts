import { expect, it } from "vitest";
import { isInForeground } from "./terminal.ts";

it.each([
  ["in the foreground of a terminal", "7 (node) S 1 40 40 34816 40 4194304 ...", true],
  ["whatever its name is", "7 (no) de ( S 1 9) S 1 40 40 34816 40 4194304 ...", true],
  ["in the background of a terminal", "7 (node) S 1 40 40 34816 41 4194304 ...", false],
  ["without a terminal", "7 (node) S 1 40 40 0 -1 4194304 ...", false],
  ["where nothing can be told", "", false],
])("a process %s", (_where, stat, expected) => {
  expect(isInForeground(stat)).toBe(expected);
});
