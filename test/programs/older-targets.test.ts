import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixture } from "../support/run-program.ts";
import { outputOf } from "../support/run-to-end.ts";

/** Programs compiled for versions of JavaScript without async generators, or without async functions. */

const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");

/** Both must be the same: what the program computes itself, and what its worker computes. */
const EXPECTED = [
  [[10, 0, 0], [11, 1, 1], "last", "end"],
  [3, 1, null],
  [7, 2, 3, 4, null],
  [4, 1, null],
  [6, null],
  [4, 2],
  11,
  2,
  [[10, 0, 0], [11, null, 1], "last", 4, 1],
  [[10, 0, 0]],
  "last",
];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "wool-older-targets-"));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(fileURLToPath(new URL("../..", import.meta.url)), join(folder, "node_modules", "wool-ts"));
  cpSync(fixture("older-targets"), folder, { recursive: true });
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("a program compiled by TypeScript", () => {
  it.each([
    ["es2017", "commonjs"],
    ["es2015", "commonjs"],
    ["es2017", "esnext"],
  ])("for %s as %s has its streams", async (target, module) => {
    const outDir = join(folder, `tsc-${target}-${module}`);
    const args = ["main.ts", "--target", target, "--module", module, "--noCheck", "--outDir", outDir];
    const resolution = module === "esnext" ? ["--moduleResolution", "bundler"] : [];
    const compiled = spawnSync(process.execPath, [tsc, ...args, ...resolution], { cwd: folder, encoding: "utf8" });
    expect(compiled.stdout).toBe("");
    const type = module === "esnext" ? "module" : "commonjs";
    writeFileSync(join(outDir, "package.json"), JSON.stringify({ type }));
    expect(await outputOf(join(outDir, "main.js"))).toEqual({ here: EXPECTED, there: EXPECTED });
  });
});

describe("a program compiled by esbuild", () => {
  it.each([
    ["es2017", "esm", false],
    ["es2017", "cjs", true],
    ["es2016", "esm", true],
    ["es2016", "cjs", false],
  ] as const)("for %s as %s, minified: %s, has its streams", async (target, format, minify) => {
    const outfile = join(folder, `esbuild-${target}-${minify}.${format === "esm" ? "mjs" : "cjs"}`);
    const external = ["wool-ts"];
    const entryPoints = [join(folder, "main.ts")];
    buildSync({ entryPoints, outfile, target, format, minify, bundle: true, platform: "node", external });
    expect(await outputOf(outfile)).toEqual({ here: EXPECTED, there: EXPECTED });
  });
});

it("functions that wrap a generator, as Babel and swc write them, are streams", async () => {
  const expected = {
    expression: [5, 6],
    declared: [5, 1],
    passed: [5],
    called: [5],
    method: [10],
    single: 2,
    nested: [4, 5, 4, 1, 4, 5, 4, 1],
  };
  expect(await outputOf(join(folder, "wrapped.cjs"))).toEqual({ here: expected, there: expected });
});

it("functions that construct objects are one on a worker, for code of nested calls too", async () => {
  expect(await outputOf(join(folder, "constructors.cjs"))).toEqual([
    true,
    [true, true, true],
    true,
    [true, true, true],
  ]);
});
