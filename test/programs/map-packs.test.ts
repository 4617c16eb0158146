import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { installDependencies, installRuntime } from "../support/bundle.ts";
import { fixture, type ProgramOptions, runProgram } from "../support/run-program.ts";

const MANY = 12_000;
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const top = mkdtempSync(join(tmpdir(), "wool-map-packs-"));
const app = join(top, "packages", "app");

/** What the program prints, except for the state of the module that it imports. */
const SEEN = {
  right: [true, true],
  packed: true,
  ids: MANY,
  failures: MANY / 100,
  // No item sees what another one has changed.
  fresh: 1,
  here: [10, 2],
};

// Each program makes 60,000 calls, and these tests run beside others.
vi.setConfig({ testTimeout: 120_000 });

/** A workspace: the app imports a package beside it, which is linked and not installed. */
beforeAll(() => {
  const lib = join(top, "packages", "lib");
  for (const folder of [join(top, "node_modules"), join(app, "node_modules"), lib])
    mkdirSync(folder, { recursive: true });
  installRuntime(join(top, "node_modules", "wool-ts"));
  installDependencies(join(top, "node_modules"));
  writeFileSync(join(top, "package.json"), JSON.stringify({ name: "workspace", workspaces: ["packages/*"] }));
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", type: "module" }));
  writeFileSync(join(lib, "package.json"), JSON.stringify({ name: "lib", type: "module", exports: "./index.mjs" }));
  cpSync(fixture("map-packs/lib.mjs"), join(lib, "index.mjs"));
  const text = readFileSync(fixture("map-packs/main.mjs"), "utf8").replace("./lib.mjs", "lib");
  for (const name of ["main.mjs", "main.mts"]) writeFileSync(join(app, name), text);
  symlinkSync(join("..", "..", "lib"), join(app, "node_modules", "lib"));
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

async function seenBy(program: string, options: ProgramOptions = {}): Promise<unknown> {
  const { code, stdout, stderr } = await runProgram(program, options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("a map over 12,000 trivial items with captured state", () => {
  test("in a workspace, whose modules keep their state in the worker", async () => {
    expect(await seenBy(join(app, "main.mjs"), { cwd: top })).toEqual({ ...SEEN, visits: [1, MANY, MANY] });
  });

  test("in a workspace, started from elsewhere", async () => {
    expect(await seenBy(join(app, "main.mjs"), { cwd: tmpdir() })).toEqual({ ...SEEN, visits: [1, MANY, MANY] });
  });

  test("in a workspace with tsx", async () => {
    const seen = { ...SEEN, visits: [1, MANY, MANY] };
    expect(await seenBy(join(app, "main.mts"), { execArgv: ["--import", tsx], cwd: top })).toEqual(seen);
  });

  test.each([
    ["an ES module", "esm", "external"],
    ["CommonJS", "cjs", "external"],
    ["CommonJS, with the runtime inside", "cjs", "inside"],
  ] as const)("in a bundle: %s", async (title, format, runtime) => {
    const outfile = join(app, `${title}.${format === "esm" ? "mjs" : "cjs"}`);
    await build({
      entryPoints: [join(app, "main.mjs")],
      outfile,
      bundle: true,
      platform: "node",
      format,
      external: runtime === "external" ? ["wool-ts"] : [],
      logLevel: "silent",
    });
    // The worker's code is minified there, so that stacks do not show its classes.
    const packed: unknown = runtime === "external" ? true : expect.any(Boolean);
    // All code of a bundle travels, so its state starts anew with each item.
    expect(await seenBy(outfile)).toEqual({ ...SEEN, packed, visits: [1, 1, 1] });
  });
});
