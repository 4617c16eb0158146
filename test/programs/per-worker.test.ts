import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installDependencies, installRuntime } from "../support/bundle.ts";
import { fixture, type ProgramOptions, runProgram } from "../support/run-program.ts";

const source = fixture("per-worker/everywhere");
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const top = mkdtempSync(join(tmpdir(), "wool-per-worker-"));
const app = join(top, "packages", "app");
let runs = 0;

beforeAll(() => {
  const lib = join(top, "packages", "lib");
  for (const folder of [join(app, "node_modules"), lib]) mkdirSync(folder, { recursive: true });
  installRuntime(join(top, "node_modules", "wool-ts"));
  installDependencies(join(top, "node_modules"));
  writeFileSync(join(top, "package.json"), JSON.stringify({ name: "top", workspaces: ["packages/*"] }));
  writeFileSync(join(lib, "package.json"), JSON.stringify({ name: "lib", exports: "./handles.mjs" }));
  cpSync(join(source, "handles.mjs"), join(lib, "handles.mjs"));
  symlinkSync(join("..", "..", "lib"), join(app, "node_modules", "lib"));
  const text = readFileSync(join(source, "main.mjs"), "utf8").replace("./handles.mjs", "lib");
  writeFileSync(join(app, "main.mjs"), text);
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

/** Runs a program, and expects that it made one of each, and disposed of the newest first. */
async function expectOnce(program: string, options: ProgramOptions = {}): Promise<void> {
  const disposed = join(top, `disposed-${++runs}`);
  const { code, stdout, stderr } = await runProgram(program, { ...options, env: { DISPOSED: disposed } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({ seen: [[1, 1, 1], 1, [2, 2, 2], 2, 2, 2], same: [3, true], here: [0, 0] });
  expect(readFileSync(disposed, "utf8")).toBe("later 2\nconnection 2\nshared 3\n");
}

async function bundle(name: string, format: "esm" | "cjs", isRuntimeInside: boolean): Promise<string> {
  const outfile = join(top, name);
  await build({
    entryPoints: [join(app, "main.mjs")],
    outfile,
    bundle: true,
    platform: "node",
    format,
    external: isRuntimeInside ? [] : ["wool-ts"],
    logLevel: "silent",
  });
  return outfile;
}

describe("a value for each worker is made once, and disposed of in order", () => {
  test("in ES modules", async () => {
    await expectOnce("per-worker/everywhere/main.mjs");
  });

  test("when all code travels", async () => {
    await expectOnce("per-worker/everywhere/main.mjs", { args: ["by-value"] });
  });

  test("with tsx", async () => {
    await expectOnce("per-worker/everywhere/main.mjs", { execArgv: ["--import", tsx] });
  });

  test("in CommonJS", async () => {
    const folder = join(top, "commonjs");
    mkdirSync(folder);
    for (const file of readdirSync(source)) {
      const { code } = transformSync(readFileSync(join(source, file), "utf8"), { format: "cjs", target: "node20" });
      writeFileSync(join(folder, file.replace(".mjs", ".cjs")), code.replaceAll(".mjs", ".cjs"));
    }
    await expectOnce(join(folder, "main.cjs"));
  });

  test("in a workspace, from any folder", async () => {
    await expectOnce(join(app, "main.mjs"), { cwd: top });
    await expectOnce(join(app, "main.mjs"), { cwd: tmpdir() });
  });

  test("in bundles", async () => {
    await expectOnce(await bundle("bundle.mjs", "esm", false));
    await expectOnce(await bundle("bundle.cjs", "cjs", true));
  });
});
