import { expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";

test("functions that use modules come back as the originals", async () => {
  const { stdout, stderr, code } = await runProgram("returned-functions/main.mjs");
  expect({ stdout: stdout.trim(), stderr, code }).toEqual({ stdout: "[true,true,true]", stderr: "", code: 0 });
});
