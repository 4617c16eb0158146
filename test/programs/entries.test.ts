import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const packageRoot = fileURLToPath(new URL("../..", import.meta.url));

/** Runs code that node is given as text. */
async function evaluate(args: readonly string[], input = ""): Promise<unknown> {
  const child = spawn(process.execPath, args, { cwd: packageRoot, stdio: ["pipe", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.end(input);
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout, stderr };
}

const PROGRAM = `
import { routine, WorkerPool } from "wool-ts";
const offset = 40;
const add = routine(async (x) => [x + offset, process.pid]);
const pool = await WorkerPool.start({ size: 1 });
const [sum, pid] = await add(2);
console.log(sum, pid === [...pool.workers.values()][0].pid);
await pool.stop();
`;

describe("a program that is one file", () => {
  test("works in TypeScript, as the quick start has it", async () => {
    const end = await runProgram("quick-start.ts", { execArgv: ["--import", tsx] });
    expect(end).toMatchObject({ code: 0, stdout: "3\n2\n", stderr: "" });
  });

  test("works in TypeScript that is CommonJS", async () => {
    const end = await runProgram("quick-start.cts", { execArgv: ["--import", tsx] });
    expect(end).toMatchObject({ code: 0, stdout: "3,1\n", stderr: "" });
  });

  test("can import TypeScript in a routine", async () => {
    const end = await runProgram("lazy/main.mts", { execArgv: ["--import", tsx] });
    expect(end).toMatchObject({ code: 0, stdout: "red\n", stderr: "" });
  });

  test("works as an ES module, is run once, and reaches what it imports", async () => {
    const end = await runProgram("quick-start.mjs");
    expect(end).toMatchObject({ code: 0, stdout: "entry\nhello you true\n", stderr: "" });
  });

  test("meets the worker's own values of built-in modules there", async () => {
    const end = await runProgram("built-in-imports.mjs");
    expect(end).toMatchObject({ code: 0, stdout: "true false false\n", stderr: "" });
  });

  test("works in CommonJS", async () => {
    const end = await runProgram("quick-start.cjs");
    expect(end).toMatchObject({ code: 0, stdout: "a/b true a,b function\n", stderr: "" });
  });

  test("works in CommonJS where ES modules cannot be required", async () => {
    const end = await runProgram("quick-start.cjs", { execArgv: ["--no-experimental-require-module"] });
    expect(end).toMatchObject({ code: 0, stdout: "a/b true a,b function\n", stderr: "" });
  });

  test("meets the same pool and the same classes by import and by require", async () => {
    const end = await runProgram("import-and-require.mjs");
    expect(end).toMatchObject({ code: 0, stdout: "true true 42 true\n", stderr: "" });
  });

  test("works from the command line and from standard input", async () => {
    const expected = { code: 0, stdout: "42 true\n", stderr: "" };
    expect(await evaluate(["--input-type=module", "-e", PROGRAM])).toEqual(expected);
    expect(await evaluate(["--input-type=module", "-"], PROGRAM)).toEqual(expected);
  });

  test("works with a debugger port open", async () => {
    const end = await runProgram("quick-start.mjs", { execArgv: ["--inspect=127.0.0.1:0"] });
    expect(end).toMatchObject({ code: 0, stdout: "entry\nhello you true\n" });
  });
});
