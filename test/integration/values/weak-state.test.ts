import { expect, test } from "vitest";
import { runProgram } from "../../support/run-program.ts";

test("what a module keeps of its instances in weak collections travels with them", async () => {
  const { stdout, stderr } = await runProgram("weak-state/main.mjs");
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({
    captured: [
      [5, true],
      [5, true],
    ],
    argument: [4, true],
    here: [4, true],
    made: [true, [7, false]],
    back: [5, true],
    function: [2, false],
    subclass: [
      [3, false],
      [3, false],
    ],
    base: ["ada", true],
    refusal: expect.stringMatching(/^args\[0\] \(in amounts\)\.amount: net\.Server holds an open handle/),
  });
});
