import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installDependencies } from "../support/bundle.ts";

const VERSIONS = ["5.4", "5.6", "5.8", "5.9", "6.0", "7.0"];
const root = fileURLToPath(new URL("../..", import.meta.url));

/** How projects compile: the options, and the "type" of their package.json. */
const PROJECTS = [
  ["module: commonjs", { module: "commonjs" }, "commonjs"],
  ["module: node16, a CommonJS project", { module: "node16" }, "commonjs"],
  ["module: node16, a project of ES modules", { module: "node16" }, "module"],
  ["module: nodenext, a CommonJS project", { module: "nodenext" }, "commonjs"],
  ["module: esnext, for a bundler", { module: "esnext", moduleResolution: "bundler" }, "module"],
] as const;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "wool-typescript-"));
  const compilers = VERSIONS.map((version) => [`typescript-${version}`, `npm:typescript@~${version}.0`]);
  const dependencies = { ...Object.fromEntries(compilers), "@types/node": "^20.19.0" };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project", private: true, dependencies }));
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--loglevel=error"];
  expect(spawnSync("npm", args, { cwd: folder, stdio: "inherit" }).status).toBe(0);
  const installed = join(folder, "node_modules", "wool-ts");
  mkdirSync(installed);
  cpSync(join(root, "package.json"), join(installed, "package.json"));
  cpSync(join(root, "dist"), join(installed, "dist"), { recursive: true });
  installDependencies(join(folder, "node_modules"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe.each(VERSIONS)("TypeScript %s", (version) => {
  it.each(PROJECTS)("%s, without skipLibCheck", (name, options, type) => {
    const project = join(folder, `${version} ${name}`.replaceAll(/\W+/g, "-"));
    const compilerOptions = { target: "es2022", strict: true, skipLibCheck: false, types: ["node"], ...options };
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), JSON.stringify({ type }));
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }));
    writeFileSync(join(project, "main.ts"), readFileSync(new URL("project/typed/main.ts", import.meta.url)));
    const compiler = join(folder, "node_modules", `typescript-${version}`, "bin", "tsc");
    const compiled = spawnSync(process.execPath, [compiler, "-p", project], { encoding: "utf8" });
    expect(compiled.stdout).toBe("");
    const run = spawnSync(process.execPath, [join(project, "main.js")], { encoding: "utf8" });
    expect([run.stdout, run.stderr]).toEqual(["3 ada 0,1,2 true\n", ""]);
  });
});
