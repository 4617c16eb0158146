import { spawn } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const fixtures = fileURLToPath(new URL("fixtures/", import.meta.url));
const require = createRequire(import.meta.url);
const tsx = pathToFileURL(require.resolve("tsx")).href;

let scratch: string;
let library: string;

interface Report {
  readonly passed: number;
  readonly failures: readonly string[];
}

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number | null;
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}, input?: string): Promise<Ran> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, NODE_OPTIONS: "", SHIPPING_LIBRARY: library, ...env },
  });
  // A console ends with its input, so the input stays open until the program ends by itself.
  child.stdin.write(input ?? "");
  if (!args.includes("-i")) child.stdin.end();
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const status = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { stdout, stderr, status };
}

/** The report of a program of checks: no failure, and all checks passed. */
async function report(args: readonly string[], env?: NodeJS.ProcessEnv, input?: string): Promise<Report> {
  const { stdout, stderr, status } = await run(args, env, input);
  const line = /^REPORT (.*)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`no report, exit status ${status}:\n${stdout}\n${stderr}`);
  const parsed: Report = JSON.parse(line);
  return parsed;
}

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "shipping-programs-"));
  library = pathToFileURL(join(scratch, "library/")).href;
  await symlink(join(root, "node_modules"), join(scratch, "node_modules"));
  // In few files, as the package is built: each program loads it twice.
  await build({
    absWorkingDir: root,
    entryPoints: [
      "functions/index",
      "functions/capture/index",
      "values/index",
      "values/function-port",
      "routine/routine",
    ].map((name) => `src/${name}.ts`),
    outdir: fileURLToPath(library),
    outbase: "src",
    chunkNames: "wool-[hash]",
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    target: "node20.19",
    format: "esm",
    logLevel: "warning",
  });
});

afterAll(() => rm(scratch, { recursive: true }));

const programs = [
  ["names-cases.mjs", 29],
  ["functions-cases.mjs", 56],
  ["bindings-cases.mjs", 42],
  ["classes-cases.mjs", 43],
  ["modules-cases.mjs", 74],
  ["commonjs-cases.cjs", 22],
  ["refusals-cases.mjs", 27],
  ["operation-cases.mjs", 31],
  ["quiet-cases.mjs", 7],
] as const;

const tally = join(fixtures, "modules", "tally.cjs");

describe("programs that ship functions into another process", () => {
  test.each(programs)("%s", async (program, passed) => {
    expect(await report([join(fixtures, program)])).toEqual({ passed, failures: [] });
  });

  test.each(programs.slice(0, 4))("%s under tsx", async (program, passed) => {
    expect(await report(["--import", tsx, join(fixtures, program)])).toEqual({ passed, failures: [] });
  });

  test.each(programs.slice(0, 4))("%s in a thread", async (program, passed) => {
    const start = `
      const { Worker } = require("node:worker_threads");
      new Worker(${JSON.stringify(join(fixtures, program))});
    `;
    expect(await report(["-e", start])).toEqual({ passed, failures: [] });
  });

  test.each(programs.slice(0, 4))("%s while a debugger may be attached", async (program, passed) => {
    expect(await report(["--inspect=127.0.0.1:0", join(fixtures, program)])).toEqual({ passed, failures: [] });
  });

  test("from the command line", async () => {
    const program = `
      const limit = 42;
      let counter = 0;
      var shared = [1];
      function add(x) { counter += 1; return [x + limit, counter, shared]; }
      const tally = require(${JSON.stringify(tally)});
      var sameTally = require(${JSON.stringify(tally)});
      import(${JSON.stringify(pathToFileURL(join(fixtures, "check.mjs")).href)}).then(async ({ check, finish }) => {
        await check("code of -e", add, [1], [43, 1, [1]]);
        await check("modules that are globals there", () => typeof fs.readFileSync, [], "function");
        await check("a module of the receiver", () => [tally.up(), tally.count, sameTally.count], [], [1, 1, 1]);
        await check("its variables stay there", () => [sameTally.up(), tally.count], [], [2, 2]);
        await finish();
      });
    `;
    expect(await report(["-e", program])).toEqual({ passed: 4, failures: [] });
    // From the standard input they are no globals.
    expect(await report(["-"], {}, program.replace(/.*readFileSync.*/, ""))).toEqual({ passed: 3, failures: [] });
  });

  test("from the console", async () => {
    const lines = [
      "const limit = 42",
      "let counter = 0",
      "const up = () => ++counter",
      `const tally = require(${JSON.stringify(tally)})`,
      `var sameTally = require(${JSON.stringify(tally)})`,
      `import(${JSON.stringify(pathToFileURL(join(fixtures, "check.mjs")).href)}).then(async ({ check, finish }) => {` +
        ' await check("lines of the console", () => [limit, up(), counter], [], [42, 1, 1]);' +
        ' await check("a module", () => [tally.up(), tally.count, sameTally.count], [], [1, 1, 1]);' +
        ' await check("its variables", () => [sameTally.up(), tally.count], [], [2, 2]);' +
        " await finish(); process.exit(); })",
    ];
    expect(await report(["-i"], {}, `${lines.join("\n")}\n`)).toEqual({ passed: 3, failures: [] });
  });

  test("TypeScript that is more than types", async () => {
    const program = join(scratch, "program.mts");
    await writeFile(
      program,
      `
      import { check, fail, finish } from ${JSON.stringify(pathToFileURL(join(fixtures, "check.mjs")).href)};
      enum Level { Low = 1, High }
      namespace Tools { export const size = 5; export function twice(x: number) { return x * 2 + size; } }
      abstract class Shape { constructor(protected readonly side: number) {} abstract area(): number; describe = () => \`area \${this.area()}\`; }
      class Square extends Shape { #unit = "m"; area(): number { return this.side ** 2; } get unit(): string { return this.#unit; } }
      function logged(value: unknown, context: ClassMethodDecoratorContext) { return function (this: unknown, ...args: unknown[]) { return ["logged", String(context.name), Reflect.apply(value as () => unknown, this, args)]; }; }
      class Decorated { @logged method(x: number) { return x + 1; } }
      const square = new Square(3);
      const decorated = new Decorated();
      await check("enums and namespaces", () => [Level.High, Level[1], Tools.twice(2)], [], [2, "Low", 9]);
      await check("classes", () => [square.area(), square.describe(), square.unit, new Square(1).describe()], [], [9, "area 9", "m", "area 1"]);
      await check("decorators", () => [decorated.method(1), new Decorated().method(2)], [], [["logged", "method", 2], ["logged", "method", 3]]);
      await check("generics", <T,>(x: T): T[] => [x], [1], [1]);
      const inner = ((a: number) => { function named(b: number) { return a + b; } return named; })(3);
      await check("names", () => [inner.name, inner(4), Square.name], [], ["named", 7, "Square"]);
      await fail("lines", () => {
        const text = "on";

        throw new Error(text + " purpose");
      }, "program.mts:20:");
      await finish();
      `,
    );
    expect(await report(["--import", tsx, program])).toEqual({ passed: 6, failures: [] });
  });

  test("TypeScript as CommonJS", async () => {
    const program = join(scratch, "program.cts");
    await writeFile(
      program,
      `
      import path = require("node:path");
      const { basename } = require("node:path") as typeof path;
      enum Level { Low = 1, High }
      let calls: number = 0;
      class Counter { static made = 0; #count = 0; constructor(readonly step: number) { Counter.made += 1; } up(): number { this.#count += this.step; return this.#count; } }
      const counter = new Counter(2);
      counter.up();
      const bump = (by: number): number => (calls += by);
      import(${JSON.stringify(pathToFileURL(join(fixtures, "check.mjs")).href)}).then(async ({ check, fail, finish }) => {
        await check("imports, enums", (file: string) => [path.extname(file), basename(file), Level.High], ["/a/b.c"], [".c", "b.c", 2]);
        await check("variables that are assigned to", () => [bump(2), calls], [], [2, 2]);
        await check("classes", () => [counter.up(), new Counter(5).up(), Counter.made], [], [4, 5, 2]);
        await fail("lines", () => {
          throw new Error("on purpose");
        }, "program.cts:15:");
        await finish();
      });
      `,
    );
    expect(await report(["--import", tsx, program])).toEqual({ passed: 4, failures: [] });
  });

  test("inside of Vitest, in its threads", async () => {
    const vitest = join(dirname(require.resolve("vitest/package.json")), "vitest.mjs");
    const args = ["run", "--pool=threads", "--reporter=dot", "src/functions/in-vitest.test.ts"];
    const { stdout, stderr, status } = await run([vitest, ...args], { VITEST: undefined, VITEST_POOL_ID: undefined });
    expect({ status, output: status === 0 ? "" : stdout + stderr }).toEqual({ status: 0, output: "" });
  });
});
