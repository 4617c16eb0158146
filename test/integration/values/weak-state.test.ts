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

test("state that cannot travel is refused with the variable that holds it, and the way out", async () => {
  const { stdout, stderr } = await runProgram("weak-state/refused.mjs");
  expect(stderr).toBe("");
  const reason = "net.Server holds an open handle. Make it inside the routine, from data that is passed.";
  expect(JSON.parse(stdout)).toEqual([
    `captured -> thing -> (in values) -> value: ${reason} Or have each worker make it once: const thing = perWorker(() => ` +
      "new Thing(createServer())), with thing.get() where it is used.",
    `args[0] (in values).value: ${reason} Or have each worker make it once, outside of the routine: const own = ` +
      "perWorker(() => new Thing(...)), with own.get() in the routine instead of the argument.",
    [1, true],
  ]);
});
