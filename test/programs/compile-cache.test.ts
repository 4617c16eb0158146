import { cpSync, existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installDependencies, installRuntime } from "../support/bundle.ts";
import { fixture, runProgram } from "../support/run-program.ts";

const hasCache = "getCompileCacheDir" in process.getBuiltinModule("node:module");
if (!hasCache) console.warn(`skipped: compiled code of Node.js itself, since version ${process.version} keeps none`);

/** The tests have none kept, unless they ask for it. */
const ON = { NODE_DISABLE_COMPILE_CACHE: undefined, NODE_COMPILE_CACHE: undefined };

interface Found {
  /** The folder of the version of Node.js in the folder for all of them. */
  readonly folder?: string;
  readonly env?: string;
  readonly sum: number;
}

describe("compiled code", () => {
  let directory: string;
  let program: string;

  beforeAll(() => {
    directory = realpathSync(mkdtempSync(join(tmpdir(), "wool-compiled-")));
    program = join(directory, "main.mjs");
    cpSync(fixture("compile-cache/main.mjs"), program);
    installRuntime(join(directory, "node_modules", "wool-ts"));
    installDependencies(join(directory, "node_modules"));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  async function find(env: Readonly<Record<string, string | undefined>>, ...args: string[]): Promise<Found> {
    const { stdout } = await runProgram(program, { args, env: { ...ON, ...env } });
    return JSON.parse(stdout) as Found;
  }

  const kept = () => join(directory, "node_modules", ".cache", "wool-ts");

  test.skipIf(!hasCache)("of workers is kept beside the package, and used", async () => {
    const { folder = "", env, sum } = await find({});
    expect({ parent: dirname(folder), env, sum }).toEqual({ parent: kept(), sum: 3 });
    const files = readdirSync(folder).sort();
    expect(files.length).toBeGreaterThan(3);
    // Code that was compiled before does the same, and nothing has to be compiled anew.
    expect((await find({})).sum).toBe(3);
    expect(readdirSync(folder).sort()).toEqual(files);
  });

  test.skipIf(!hasCache)("is kept where the program has its own kept", async () => {
    const own = join(directory, "own");
    const { folder = "", sum } = await find({}, own);
    expect({ parent: dirname(folder), sum }).toEqual({ parent: own, sum: 3 });
    expect(readdirSync(own)).toHaveLength(1);
  });

  test.skipIf(!hasCache)("is kept where the environment says", async () => {
    const other = join(directory, "other");
    const { folder = "", env } = await find({ NODE_COMPILE_CACHE: other }, join(directory, "one"));
    expect({ parent: dirname(folder), env }).toEqual({ parent: other, env: other });
  });

  test.skipIf(hasCache)("is kept by the runtime where Node.js keeps none, and used", async () => {
    const program = join(directory, "kept.mjs");
    cpSync(fixture("compile-cache/kept.mjs"), program);
    const run = async (folder: string, env = {}): Promise<unknown> =>
      JSON.parse((await runProgram(program, { args: [folder], env: { ...ON, ...env } })).stdout);
    const version = `${process.version}-${process.arch}`;
    const names = ["dns", "index", "late-capture", "late-proxy", "thread-scripts"].map((name) => `thread-${name}`);
    const files = ["process-process-scripts", ...names].map((name) =>
      expect.stringMatching(`^${name}-${version}-\\w+\\.bin$`),
    );
    const expected = { isTask: true, isSame: true, refuses: true, nested: 8, kept: files };
    expect(await run(kept())).toEqual(expected);
    // Code that was compiled before does the same.
    expect(await run(kept())).toEqual(expected);
    rmSync(kept(), { recursive: true });
    const other = join(directory, "elsewhere");
    expect(await run(other, { NODE_COMPILE_CACHE: other })).toEqual(expected);
    expect(existsSync(kept())).toBe(false);
  });

  test.skipIf(hasCache)("is kept when a worker ends soon", async () => {
    rmSync(kept(), { recursive: true, force: true });
    const program = join(directory, "short.mjs");
    cpSync(fixture("compile-cache/short.mjs"), program);
    const { stdout } = await runProgram(program, { args: [kept()], env: ON });
    expect(JSON.parse(stdout)).toEqual([
      expect.stringMatching(/^process-process-scripts-.*\.bin$/),
      expect.stringMatching(/^thread-thread-scripts-.*\.bin$/),
    ]);
  });

  test.each(["NODE_DISABLE_COMPILE_CACHE", "NODE_V8_COVERAGE"])("is not kept with %s", async (name) => {
    rmSync(kept(), { recursive: true, force: true });
    expect(await find({ [name]: join(directory, "coverage") })).toEqual({ sum: 3 });
    expect(existsSync(kept())).toBe(false);
  });

  test("is done without where the folder cannot be written to", async () => {
    rmSync(kept(), { recursive: true, force: true });
    cpSync(program, kept());
    expect((await find({})).sum).toBe(3);
    rmSync(kept());
  });
});
