import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

async function seenBy(program: string, execArgv: readonly string[] = []): Promise<unknown> {
  const { code, stdout, stderr } = await runProgram(`references/${program}`, { execArgv });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe.each([
  ["Node alone", []],
  ["tsx", ["--import", tsx]],
])("routines that a module exports, with %s", (_title, execArgv) => {
  let seen: unknown;

  beforeAll(async () => {
    seen = await seenBy("main.mjs", execArgv);
  });

  test("run in the worker's own instance of the module, whose state stays", () => {
    expect(seen).toMatchObject({
      state: [
        [1, 1, true, "visit"],
        [2, 2, true, "visit"],
        [1, 3, true, "visit"],
      ],
      stream: [true, "a", "b"],
      byDefault: [[8, true, "default"], "default"],
      namedElsewhere: true,
      nested: [1, 4, true, "visit"],
      inside: [[3, 5, true, "visit"], { done: false, value: true }, [2, true, "default"]],
      commonJs: [true, true],
      commonJsInside: [true, true],
    });
  });

  test("are the ones of the module where they are captured or passed, and come back as what they were", () => {
    expect(seen).toMatchObject({
      identity: [true, true, true, false],
      argument: [true, "visit"],
      withOptions: [[1, 6, true, "visit"], "visit"],
      back: [true, true],
    });
  });

  test("travel with their code when that is asked for, fresh for each call", () => {
    expect(seen).toMatchObject({
      copied: [
        [1, false],
        [1, false],
      ],
    });
  });

  test("are what a variable holds now that the module assigns to", () => {
    expect(seen).toMatchObject({ replaced: ["second", ["second", "second"]] });
  });

  test("travel with their code to a worker that fails to load the module, fresh for each call", () => {
    expect(seen).toMatchObject({
      halfWay: [
        [1, true, 4],
        [1, true, 4],
      ],
    });
  });

  test("are refused there when they are to travel by reference only", () => {
    expect(seen).toMatchObject({ only: expect.stringContaining('"test/fixtures/references/half-way.mjs", which') });
  });
});

test("a module that starts a pool is not loaded by workers", async () => {
  expect(await seenBy("main-pool.mjs")).toEqual([1, 1, 1]);
});

test("nor is one that does so in a function which it calls", async () => {
  expect(await seenBy("main-program.mjs")).toEqual([1, 1, 1]);
});

test("TypeScript modules are loaded by workers that can, and their code travels to those that cannot", async () => {
  const withCode = {
    canLoad: false,
    calls: [
      [1, false, "visit"],
      [1, false, "visit"],
      [false, "default"],
    ],
  };
  const byReference = {
    canLoad: true,
    calls: [
      [1, true, "visit"],
      [2, true, "visit"],
      [true, "default"],
    ],
  };
  const seen = await seenBy("main.ts", ["--import", tsx]);
  expect(seen).toHaveLength(2);
  for (const pool of seen as { canLoad: boolean }[]) expect(pool).toEqual(pool.canLoad ? byReference : withCode);
});
