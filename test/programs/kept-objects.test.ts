import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fixture } from "../support/run-program.ts";
import { outputOf } from "../support/run-to-end.ts";

/** Instances that a class keeps, as its constants or by name: code compares them by identity. */

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

const EXPECTED = {
  colors: [true, true, [true, false], true],
  back: true,
  backAsData: true,
  twice: [true, "red", true],
  look: [1, 2, true, "/alone", true],
  made: true,
  // A single static instance is state: the task gets a copy of it.
  count: [[1, false, 0], [1, false, 0], 0],
  units: [
    [true, 86_400],
    [false, 1],
  ],
  // Some hold objects that lead back to them, belong to another class, or are exports of a package.
  constants: [
    [true, true, true, true],
    [true, true, true, true],
    [true, true, true, true],
    [true, true, true, true],
    [1, false, 0],
  ],
  changedInside: [false, 3, 2],
  // One that the program has changed is not what the worker has.
  changed: ["dark red", false, "red"],
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "wool-kept-objects-"));
  cpSync(fixture("kept-objects"), folder, { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  cpSync(join(folder, "names-kit"), join(folder, "node_modules", "names-kit"), { recursive: true });
  symlinkSync(fileURLToPath(new URL("../..", import.meta.url)), join(folder, "node_modules", "wool-ts"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

it.each([
  ["node", []],
  ["tsx", ["--import", tsx]],
])("arrive as the worker's own, and as the caller's own in results: %s", async (_, execArgv) => {
  expect(await outputOf(join(folder, "main.mjs"), { execArgv })).toEqual(EXPECTED);
});
