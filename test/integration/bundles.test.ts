import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BuildOptions } from "esbuild";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type BundleProject, installDependencies, installRuntime, makeBundleProject } from "../support/bundle.ts";
import { isRunning, killProcess } from "../support/processes.ts";
import { type ProgramEnd, type ProgramOptions, startProgram } from "../support/run-program.ts";
import { makeRuntimeFolder } from "../support/runtime-folder.ts";
import { until } from "../support/until.ts";

// Bundles are parsed as a whole, each several times in these programs.
vi.setConfig({ testTimeout: 120_000 });

let project: BundleProject;

beforeAll(() => {
  project = makeBundleProject();
});
afterAll(() => {
  project[Symbol.dispose]();
});

/** Runs a program to its end, which is none before nothing of it is left. */
async function run(file: string, options: ProgramOptions = {}): Promise<ProgramEnd> {
  using folder = makeRuntimeFolder();
  const program = startProgram(file, { ...options, env: { ...options.env, ...folder.env } });
  const end = await program.ended;
  expect(folder.leftovers([program.child.pid ?? 0])).toEqual([]);
  return end;
}

async function output(file: string, options: ProgramOptions = {}): Promise<unknown> {
  const { code, stdout, stderr } = await run(file, options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

const EVERYTHING = {
  away: true,
  esm: [2000, 2, ["m", "km"], 2],
  cjs: [3723, true, 3723],
  failing: ["OutOfStock", "wool", "no wool left", true],
  failingInPackage: ["UnknownUnit", "parsec", true],
  nested: 8,
  task: [expect.stringMatching(/^[\w$]+$/), "acme", false],
  context: true,
  stream: [1000, 2000, 3000],
  lazily: "b",
  nestedPool: [true, 1],
  bumped: [1, 1, 1],
  method: { value: 12, isModel: true },
  methodStream: [0, 3, 6],
  mapped: [[1000, 1, ["m", "km"], 1]],
  alone: true,
};

const experimental = { tsconfigRaw: { compilerOptions: { experimentalDecorators: true } } };

const WAYS: [string, "esm" | "cjs", BuildOptions][] = [
  ["an ES module", "esm", {}],
  ["an ES module, minified", "esm", { minify: true }],
  ["an ES module, names kept, with a source map", "esm", { keepNames: true, sourcemap: true }],
  ["an ES module, decorators of the older dialect", "esm", experimental],
  ["CommonJS", "cjs", {}],
  ["CommonJS, minified", "cjs", { minify: true }],
  ["CommonJS, minified, names kept, with a source map", "cjs", { minify: true, keepNames: true, sourcemap: "inline" }],
  ["CommonJS, decorators of the older dialect", "cjs", experimental],
];

describe("a program bundled with its packages", () => {
  test.each(WAYS)("as %s does everything on workers", async (_, format, options) => {
    expect(await output(await project.bundle("everything.ts", format, options))).toEqual(EVERYTHING);
  });

  test.each([{}, { minify: true }])("may be the quick start of the README: %o", async (options) => {
    const readme = readFileSync(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");
    const [, program = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    project.write("quick-start.ts", program);
    project.write("quick-start-cjs.ts", program.replace(/^await using[\s\S]*/m, "void (async () => {\n$&})();\n"));
    for (const [name, format] of [
      ["quick-start.ts", "esm"],
      ["quick-start-cjs.ts", "cjs"],
    ] as const) {
      expect(await run(await project.bundle(name, format, options))).toMatchObject({
        code: 0,
        stdout: "3\n",
        stderr: "",
      });
    }
  });

  test("may have a CommonJS package that requires modules of Node", async () => {
    const expected = ["b", "{ file: 'a/b' }"];
    expect(await output(await project.bundle("uses-node.ts", "cjs"))).toEqual(expected);
    expect(await output(await project.bundle("uses-node.ts", "cjs", { minify: true }))).toEqual(expected);
    const require = 'import { createRequire as from } from "node:module"; const require = from(import.meta.url);';
    expect(await output(await project.bundle("uses-node.ts", "esm", { banner: { js: require } }))).toEqual(expected);
  });

  test("may be in several files", async () => {
    const outdir = join(project.elsewhere, "split");
    const options = { splitting: true, outdir, outExtension: { ".js": ".mjs" } };
    expect(await output(await project.bundle("everything.ts", "esm", options))).toEqual(EVERYTHING);
  });

  test.each(["esm", "cjs"] as const)("passes options of Node on to its workers, as %s", async (format) => {
    const found = [true, "red", true, true];
    expect(await output(await project.bundle("options.ts", format))).toEqual([found, found]);
  });

  test("leaves nothing behind when it is killed", async () => {
    using folder = makeRuntimeFolder();
    const program = startProgram(await project.bundle("wait.ts", "esm"), { env: folder.env });
    try {
      await until(() => program.stdout.includes("\n") || program.child.exitCode !== null, "the pool has started");
      const [pid] = JSON.parse(program.stdout) as number[];
      expect(isRunning(pid)).toBe(true);
      expect(folder.leftovers().filter((path) => path.endsWith("wool-worker.mjs"))).toHaveLength(1);
      killProcess(program.child.pid);
      await program.ended;
      await until(() => !isRunning(pid), "the worker has ended");
      await until(() => folder.leftovers([program.child.pid ?? 0]).length === 0, "nothing is left on disk");
    } finally {
      program.child.kill("SIGKILL");
    }
  });
});

describe("a library bundled with the runtime", () => {
  test.each(["esm", "cjs"] as const)("travels as code and meets the worker's own runtime, as %s", async (format) => {
    // Without private members in it, which would keep a module from being loaded by workers as well.
    const outfile = join(project.folder, `library.${format === "esm" ? "mjs" : "cjs"}`);
    const library = await project.bundle("library.ts", format, { target: "es2021", outfile });
    const end = await output(join(project.folder, "uses-library.mjs"), { args: [pathToFileURL(library).href] });
    expect(end).toEqual([true, "visit"]);
  });
});

describe("a package that cannot travel", () => {
  const own =
    /^SerializationError: \w+ -> own\d*: a WeakRef points into the memory of this process\. Pass what deref\(\) returns\.$/;

  test.each(["esm", "cjs"] as const)("is named when it is inside of a bundle, as %s", async (format) => {
    const file = await project.bundle("refused.ts", format);
    const [refusal, ownRefusal] = (await output(file)) as string[];
    expect(refusal).toBe(
      "SerializationError: usesPackage -> remember -> forgotten: a FinalizationRegistry watches the memory of this " +
        "process. Make it inside the routine. This is code of node_modules/holds-handles/index.js inside of the bundle " +
        `${file.slice(file.lastIndexOf("/") + 1)}: leave packages out of it (esbuild: packages: "external"), and ` +
        "workers import them by themselves.",
    );
    expect(ownRefusal).toMatch(own);
  });

  test("may be the reason, which is all that can be told of a minified bundle", async () => {
    const [refusal, ownRefusal] = (await output(
      await project.bundle("refused.ts", "cjs", { minify: true }),
    )) as string[];
    for (const message of [refusal, ownRefusal]) {
      expect(message).toMatch(
        /This code is in the bundle refused-\d+\.cjs: if it is that of a package, leave packages/,
      );
      expect(message).toContain('packages: "external"');
    }
  });

  test('is imported by workers with packages: "external"', async () => {
    installDependencies(join(project.folder, "node_modules"));
    for (const format of ["esm", "cjs"] as const) {
      const outfile = join(project.folder, `external.${format === "esm" ? "mjs" : "cjs"}`);
      const file = await project.bundle("refused.ts", format, { packages: "external", outfile });
      const [answer, ownRefusal] = (await output(file)) as string[];
      expect(answer).toBe("kept");
      expect(ownRefusal).toMatch(own);
    }
  });
});

describe("where no worker can be found", () => {
  test("says what is missing and what to set", async () => {
    const file = await project.bundle("everything.ts", "esm", {
      plugins: [
        {
          name: "leaves it out",
          setup: ({ onResolve }) => onResolve({ filter: /embedded-worker/ }, ({ path }) => ({ path, external: true })),
        },
      ],
    });
    const { code, stderr } = await run(file);
    expect(code).toBe(1);
    expect(stderr).toContain("WorkerStartError: a worker process cannot be started: neither its file (");
    expect(stderr).toContain('Keep wool-ts out of the bundle (esbuild: packages: "external") and install it');
  });
});

const WHERE = `
import { currentTask, routine, WorkerPool } from "wool-ts";
import { double } from "./double.mjs";
const look = routine(async (n) => [await double(n), process.argv[1], currentTask() !== undefined]);
const pool = await WorkerPool.start({ size: 1 });
try {
  console.log(JSON.stringify(await look(2)));
} finally {
  await pool.stop();
}
`;
const DOUBLE = `
import { currentTask } from "wool-ts";
export async function double(n) {
  if (currentTask() === undefined) throw new Error("another instance of the runtime");
  return 2 * n;
}
`;

/** A program whose packages are laid out by a package manager. */
function makeProgram(name: string): { readonly folder: string; readonly program: string } {
  const folder = join(project.elsewhere, name);
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, type: "module" }));
  writeFileSync(join(folder, "double.mjs"), DOUBLE);
  writeFileSync(join(folder, "main.mjs"), WHERE);
  return { folder, program: join(folder, "main.mjs") };
}

describe("an installation", () => {
  test("by pnpm, of links into a store, is run from the store", async () => {
    const { folder, program } = makeProgram("pnpm");
    const store = join(folder, "node_modules", ".pnpm", "wool-ts@0.1.0", "node_modules");
    installRuntime(join(store, "wool-ts"));
    installDependencies(store);
    symlinkSync(join(".pnpm", "wool-ts@0.1.0", "node_modules", "wool-ts"), join(folder, "node_modules", "wool-ts"));
    expect(await output(program)).toEqual([4, join(store, "wool-ts", "dist", "thread-main.js"), true]);
  });

  test.each(["zip", "asar"])("inside of a .%s is left alone where a new process could not read it", async (type) => {
    const { folder, program } = makeProgram(`packed-${type}`);
    const archive = join(folder, "cache", `wool-ts.${type}`, "node_modules");
    installRuntime(join(archive, "wool-ts"));
    installDependencies(archive);
    symlinkSync(join(archive, "wool-ts"), join(folder, "node_modules", "wool-ts"));
    expect(await output(program)).toEqual([4, expect.stringMatching(/[\\/]wool-worker\.mjs$/), true]);
  });

  test("inside of a .zip is run from there with the hooks of Yarn, which read it", async () => {
    const { folder, program } = makeProgram("yarn");
    const archive = join(folder, "cache", "wool-ts.zip", "node_modules");
    installRuntime(join(archive, "wool-ts"));
    installDependencies(archive);
    symlinkSync(join(archive, "wool-ts"), join(folder, "node_modules", "wool-ts"));
    writeFileSync(join(folder, ".pnp.cjs"), "");
    const env = { NODE_OPTIONS: `--require ${join(folder, ".pnp.cjs")}` };
    expect(await output(program, { env })).toEqual([4, join(archive, "wool-ts", "dist", "thread-main.js"), true]);
  });
});
