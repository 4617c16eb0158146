import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
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
    expect(seen).toMatchObject({
      only: expect.stringMatching(
        /"test\/fixtures\/references\/half-way\.mjs", which the worker cannot use \(.*: this is not home\)/,
      ),
    });
  });
});

test("arguments count as they were at the call, also when it is made anew because the worker cannot load a module", async () => {
  expect(await seenBy("main-changed.mjs")).toEqual([3, 100_000, 3_000_000]);
});

test("a file that is two modules is two at the worker", async () => {
  expect(await seenBy("main-queried.mjs")).toEqual(["?x=1", "?x=2", "?x=1", "?x=2"]);
});

test("a module that starts a pool is not loaded by workers", async () => {
  expect(await seenBy("main-pool.mjs")).toEqual([1, 1, 1]);
});

test("nor is one that does so in a function which it calls", async () => {
  expect(await seenBy("main-program.mjs")).toEqual([1, 1, 1]);
});

describe("a module that starts workers in a way that cannot be seen does not start any in a worker that loads it", () => {
  const refusal =
    /was called in a worker outside of any task: .*Start the pool in the entry file of the program, or in/;
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "wool-references-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** What the program printed, and how many processes ran it. */
  async function run(how: string): Promise<{ answers: unknown; processes: number; stderr: string }> {
    const file = join(folder, "loaded");
    const env = { HOW: how, LOADED_FILE: file };
    const { code, stdout, stderr } = await runProgram("references/main-command.mjs", { env });
    expect(code).toBe(0);
    const pids = readFileSync(file, "utf8").trim().split("\n");
    return { answers: JSON.parse(stdout), processes: new Set(pids).size, stderr };
  }

  test.each(["a callback", "then", "a timer"])("from %s: is loaded, and the refusal reported", async (how) => {
    const { answers, processes, stderr } = await run(how);
    expect({ answers, processes }).toEqual({ answers: [1, 2], processes: 2 });
    expect(stderr).toContain("WorkerStartError: WorkerPool.start()");
    expect(stderr).toMatch(refusal);
  });

  test.each(["await", "a worker"])("from %s: is not loaded, and the code travels", async (how) => {
    expect(await run(how)).toEqual({ answers: [1, 1], processes: 2, stderr: "" });
  });

  test("is refused when it is to travel by reference only", async () => {
    const { answers, processes } = await run("reference");
    expect(answers).toEqual([expect.stringMatching(/which the worker cannot use \(.* cannot be loaded here: /)]);
    expect(answers).toEqual([expect.stringMatching(refusal)]);
    expect(processes).toBe(2);
  });

  test("and ends its thread when it exits for that", async () => {
    const { answers, processes } = await run("exit");
    const lost = expect.stringContaining("process.exit(1) was called in it");
    expect({ answers, processes }).toEqual({ answers: [lost, lost], processes: 2 });
  });
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
