import { expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";

test("console output of a task reaches the caller's streams line by line, with the worker's name in front", async () => {
  const { code, stdout, stderr } = await runProgram("lifecycle/print.mjs");
  expect(code).toBe(0);
  const [worker = "", ...lines] = stdout.split("\n");
  const prefix = `[${worker}] `;
  expect(worker).not.toBe("");
  expect(lines).toEqual([`${prefix}first`, `${prefix}second`, `${prefix}in pieces`, prefix, `${prefix}no end`, ""]);
  expect(stderr).toBe(`${prefix}to stderr\n`);
});

test("what a task printed arrives whole when the pool is stopped as soon as it has ended", async () => {
  const { code, stdout, stderr } = await runProgram("lifecycle/print-much.mjs", { args: ["10000"] });
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toHaveLength(10_000);
  expect(stdout).toMatch(/line 9999 y{80}\n$/);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1000);
});

test("lines of different tasks do not merge", async () => {
  const { code, stdout } = await runProgram("lifecycle/print-without-end.mjs");
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/^\[[^\]]*\] /, ""))).toEqual(["task 1", "task 2", "task 3"]);
});
