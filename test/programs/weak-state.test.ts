import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, transformSync } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { installDependencies, installRuntime } from "../support/bundle.ts";
import { fixture, type ProgramOptions, runProgram } from "../support/run-program.ts";

const source = fixture("weak-state/apart");
const modules = readdirSync(source);
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const top = mkdtempSync(join(tmpdir(), "wool-weak-state-"));
afterAll(() => rmSync(top, { recursive: true, force: true }));

/** What every case gives, wherever its tasks run. */
const kept = (...values: unknown[]): unknown => ({
  captured: [values[0], values[1]],
  argument: values[1],
  closure: values[1],
  result: values[2],
  made: values[3],
});
const EXPECTED = {
  Thing: kept([5, true], [7, true], [2, true], [8, true]),
  Door: kept([true], [true], [true], [true]),
  Slotted: kept([5], [7], [2], [8]),
  Stored: kept([5], [7], [2], [8]),
  Chest: kept([5], [7], [2], [8]),
  Placed: kept([5], [7], [2], [8]),
  Bound: kept([5], [7], [2], [8]),
  Own: kept([5], [7], [2], [8]),
  More: kept([5, true], [7, true], [2, true], [8, true]),
  Mixed: kept(["amount", 5], ["amount", 7], ["amount", 2], ["amount", 8]),
  handle: kept([5], [7], [2], [8]),
  late: [
    [null, false],
    [3, true],
  ],
  replaced: [9],
  thrown: [true, ["failed", 4]],
};

async function expectSame(program: string, options: ProgramOptions = {}): Promise<void> {
  const { code, stdout, stderr } = await runProgram(program, options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({ local: EXPECTED, remote: EXPECTED });
}

/** A project with the runtime installed. */
function makeProject(name: string): string {
  const folder = join(top, name);
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project" }));
  installRuntime(join(folder, "node_modules", "wool-ts"));
  installDependencies(join(folder, "node_modules"));
  return folder;
}

type Compile = (text: string) => string;
const asItIs: Compile = (text) => text;
const byEsbuild: Compile = (text) => transformSync(text, { format: "cjs", target: "node20" }).code;
/** As one writes it by hand: destructured imports, and exports at the end. */
const byHand: Compile = (text) => {
  const names = [...text.matchAll(/^export (?:class|const|function) (\w+)/gm)].map(([, name]) => name);
  const body = text
    .replace(/^import (?:\* as )?(.+) from (".+");$/gm, "const $1 = require($2);")
    .replace(/^export (?=class|const|function)/gm, "");
  return `"use strict";\n${body}\nmodule.exports = { ${names.join(", ")} };\n`;
};
const inCommonJs =
  (compile: Compile): Compile =>
  (text) =>
    compile(text).replaceAll(".mjs", ".cjs");

describe("state that a class keeps in weak collections of another module travels with its instances", () => {
  test("in ES modules", async () => {
    await expectSame("weak-state/apart/main.mjs");
  });

  test("when all code travels", async () => {
    await expectSame("weak-state/apart/main.mjs", { args: ["by-value"] });
  });

  test("with tsx", async () => {
    await expectSame("weak-state/apart/main.mjs", { execArgv: ["--import", tsx] });
  });

  test.each([
    ["esbuild", byEsbuild],
    ["hand", byHand],
  ])("in CommonJS by %s", async (name, compile) => {
    const folder = makeProject(name);
    for (const module of modules) {
      const text = inCommonJs(compile)(readFileSync(join(source, module), "utf8"));
      writeFileSync(join(folder, module.replace(".mjs", ".cjs")), text);
    }
    await expectSame(join(folder, "main.cjs"));
  });

  test.each([
    ["ES modules", asItIs, ".mjs"],
    ["CommonJS", inCommonJs(byEsbuild), ".cjs"],
  ])("in two packages of %s", async (name, compile, extension) => {
    const folder = makeProject(`packages of ${name}`);
    for (const module of modules) {
      const owner = module === "things.mjs" ? "things" : "state";
      const target = join(folder, module === "main.mjs" ? "" : join("node_modules", owner));
      mkdirSync(target, { recursive: true });
      writeFileSync(join(target, "package.json"), JSON.stringify({ name: owner }));
      const text = readFileSync(join(source, module), "utf8")
        .replace(/"\.\/things\.mjs"/g, '"things/things.mjs"')
        .replace(/"\.\/(state|slots)\.mjs"/g, '"state/$1.mjs"');
      writeFileSync(join(target, module.replace(".mjs", extension)), compile(text));
    }
    await expectSame(join(folder, `main${extension}`));
  });

  test("in a bundle", async () => {
    const folder = makeProject("bundle");
    const outfile = join(folder, "bundle.mjs");
    cpSync(source, join(folder, basename(source)), { recursive: true });
    await build({
      entryPoints: [join(folder, basename(source), "main.mjs")],
      outfile,
      bundle: true,
      packages: "external",
      platform: "node",
      format: "esm",
      logLevel: "silent",
    });
    await expectSame(outfile);
  });
});
