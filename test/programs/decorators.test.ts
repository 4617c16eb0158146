import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixture, type ProgramEnd, runProgram } from "../support/run-program.ts";

const require = createRequire(import.meta.url);
const tsx = pathToFileURL(require.resolve("tsx")).href;
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");

interface Report {
  readonly own: number;
  readonly worker: number;
  readonly [name: string]: unknown;
}

/** Where the programs are, once they are compiled; tsx needs no compiling. */
interface Toolchain {
  readonly dialect: "standard" | "experimental";
  readonly compiler: "tsc" | "tsx";
}

const toolchains: Toolchain[] = [
  { dialect: "standard", compiler: "tsc" },
  { dialect: "standard", compiler: "tsx" },
  { dialect: "experimental", compiler: "tsc" },
  { dialect: "experimental", compiler: "tsx" },
];

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "wool-decorators-"));
  await mkdir(join(folder, "node_modules"));
  await symlink(fileURLToPath(new URL("../..", import.meta.url)), join(folder, "node_modules", "wool-ts"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

function tsconfigOf(dialect: Toolchain["dialect"]): string {
  return fixture(`decorators/${dialect}.tsconfig.json`);
}

async function compile(dialect: Toolchain["dialect"]): Promise<ProgramEnd> {
  return await runProgram(tsc, { args: ["-p", tsconfigOf(dialect), "--outDir", join(folder, dialect)] });
}

async function runWith({ dialect, compiler }: Toolchain, name: string): Promise<ProgramEnd> {
  return await (compiler === "tsc"
    ? runProgram(join(folder, dialect, `${name}.js`))
    : runProgram(fixture(`decorators/${name}.ts`), {
        execArgv: ["--import", tsx],
        env: { TSX_TSCONFIG_PATH: tsconfigOf(dialect) },
      }));
}

async function run(toolchain: Toolchain, name: string): Promise<Report> {
  const { code, stdout, stderr } = await runWith(toolchain, name);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Report;
}

describe.each(toolchains)("methods with $dialect decorators compiled by $compiler", (toolchain) => {
  let report: Report;
  let privateFields: Promise<Report>;

  beforeAll(async () => {
    if (toolchain.compiler === "tsc") {
      const { code, stdout } = await compile(toolchain.dialect);
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    }
    privateFields = run(toolchain, "private-fields");
    privateFields.catch(() => undefined);
    report = await run(toolchain, "decorated");
  });

  test("run right here outside of a pool, with the object itself", () => {
    expect(report.own).not.toBe(report.worker);
    expect(report["withoutPool"]).toEqual({ pid: report.own, value: 6, calls: 1, model: true, callsAfter: 1 });
  });

  test("run on a worker with a copy of the object, whose changes do not come back", () => {
    expect(report["predict"]).toEqual({ pid: report.worker, value: 6, calls: 1, model: true });
    expect(report["callsAfter"]).toBe(0);
    expect(report["again"]).toEqual({ pid: report.worker, value: 12, calls: 1, model: true });
    expect(report["plain"]).toMatchObject({ pid: report.worker, value: 9 });
  });

  test("take options", () => {
    expect(report["withOptions"]).toEqual({ pid: report.worker, name: "renamed", hasDeadline: true });
  });

  test("may use private fields", async () => {
    const { worker, withdrawn, here, opened } = await privateFields;
    expect(withdrawn).toEqual({ pid: worker, balance: 89 });
    expect(here).toBe(100);
    expect(opened).toEqual({ pid: worker, opened: 3 });
  });

  test("may return promises, or be generators", () => {
    expect(report["promised"]).toEqual({ pid: report.worker, value: 4 });
    expect(report["count"]).toEqual([0, 3, 6].map((value) => ({ pid: report.worker, value })));
  });

  test("may be static, with the class as this", () => {
    expect(report["load"]).toEqual({ pid: report.worker, value: 15 });
    expect(report["stream"]).toEqual([10, 11].map((value) => ({ pid: report.worker, value })));
    expect(report["inheritedStatic"]).toEqual({ pid: report.worker, value: 11 });
  });

  test("may have computed names", () => {
    expect(report["computed"]).toEqual({ pid: report.worker, value: 7 });
    expect(report["computedStatic"]).toEqual({ pid: report.worker, value: 9 });
  });

  test("combine with other decorators: those above stay here, those below travel", () => {
    expect(report["outside"]).toEqual({ pid: report.worker, value: 6, enteredIn: report.own });
    expect(report["inside"]).toEqual({ pid: report.worker, value: 6, enteredIn: report.worker });
  });

  test("are inherited, keep their names, and can be called on another object", () => {
    expect(report["inherited"]).toEqual({ pid: report.worker, value: 10, calls: 1, model: true });
    expect(report["detached"]).toMatchObject({ pid: report.worker, value: 5 });
    expect(report["name"]).toBe("predict");
  });
});
