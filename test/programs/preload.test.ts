import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";

const PROGRAM = `
  import { routine, WorkerPool } from ${JSON.stringify(fileURLToPath(new URL("../../dist/index.js", import.meta.url)))};
  const loaded = routine(async () => globalThis.loaded);
  const [specifier, ...execArgv] = process.argv.slice(2);
  try {
    const pool = await WorkerPool.start({ size: 1, workerOptions: { preload: [specifier], execArgv } });
    console.log(JSON.stringify(await loaded()));
    await pool.stop();
  } catch (error) {
    console.log(JSON.stringify(String(error)));
  }
`;

describe("modules to preload", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "wool-preload-")));
    await write("project/package.json", "{}");
    await write("project/src/main.mjs", PROGRAM);
    await mkdir(join(folder, "elsewhere"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function write(file: string, text: string): Promise<void> {
    const path = join(folder, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** A package that has something else for `require` than for `import`. */
  async function install(name: string, where: string, module: string): Promise<void> {
    const exports = { ".": { import: "./index.mjs", require: "./index.cjs" }, "./more": "./index.mjs" };
    await write(`${where}/node_modules/${name}/package.json`, JSON.stringify({ name, exports }));
    await write(`${where}/node_modules/${name}/index.mjs`, module);
    await write(`${where}/node_modules/${name}/index.cjs`, "globalThis.loaded = 'by require';");
  }

  function installTsx(): Promise<void> {
    const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));
    return symlink(packages, join(folder, "elsewhere/node_modules"));
  }

  async function preloaded(specifier: string, ...execArgv: string[]): Promise<unknown> {
    const program = join(folder, "project/src/main.mjs");
    const cwd = join(folder, "elsewhere");
    const { stdout, stderr } = await runProgram(program, { args: [specifier, ...execArgv], cwd });
    expect(stderr).toBe("");
    return JSON.parse(stdout);
  }

  test.each(["colours", "colours/more", "@some/colours"])("%s is a package of the project", async (specifier) => {
    for (const name of ["colours", "@some/colours"]) {
      await install(name, "project", `globalThis.loaded = ${JSON.stringify(name)};`);
      await install(name, "elsewhere", "globalThis.loaded = 'elsewhere';");
    }
    expect(await preloaded(specifier)).toBe(specifier.replace("/more", ""));
  });

  test("are packages of the working directory where the project has none", async () => {
    await install("colours", "elsewhere", "globalThis.loaded = 'elsewhere';");
    expect(await preloaded("colours")).toBe("elsewhere");
  });

  test("are paths from the working directory", async () => {
    await write("elsewhere/own.mjs", "globalThis.loaded = 'by path';");
    expect(await preloaded("./own.mjs")).toBe("by path");
  });

  describe("in TypeScript", () => {
    const TYPED = "enum Colour { red = 5 } globalThis.loaded = Colour.red as number;";

    test.each(["mts", "cts", "ts"])("are loaded by the tsx of their project (.%s)", async (extension) => {
      await write(`elsewhere/own.${extension}`, TYPED);
      await installTsx();
      expect(await preloaded(`./own.${extension}`)).toBe(5);
    });

    test("are so whatever else workers are started with", async () => {
      await write("elsewhere/own.tsx", TYPED);
      await write("elsewhere/instruments.mjs", "globalThis.instruments = true;");
      await installTsx();
      expect(await preloaded("./own.tsx", "--import", "./instruments.mjs")).toBe(5);
    });

    test("are left to another loader", async () => {
      await write("elsewhere/own.tsx", TYPED);
      await write("elsewhere/swc-register.mjs", "");
      await installTsx();
      const error = await preloaded("./own.tsx", "--import", "./swc-register.mjs");
      expect(error).toMatch(/^WorkerStartError.*Unknown file extension ".tsx"/);
    });

    test("say what to do where there is none", async () => {
      await write("elsewhere/own.tsx", TYPED);
      const error = await preloaded("./own.tsx");
      expect(error).toMatch(/^WorkerStartError.*Unknown file extension ".tsx"/);
      expect(error).toContain("add tsx to its project");
    });
  });

  test("that are in neither are named, with the folders", async () => {
    const error = await preloaded("colours");
    expect(error).toMatch(/^WorkerStartError/);
    const folders = `${join(folder, "project")} or ${join(folder, "elsewhere")}`;
    expect(error).toContain(
      `the package "colours" is not installed in ${folders}: install it there, or give its path or URL`,
    );
  });

  test("that import what is not there say what that is", async () => {
    await install("colours", "project", "import 'pigments';");
    expect(await preloaded("colours")).toContain("Cannot find package 'pigments' imported from");
  });
});
