import { afterEach, expect, it } from "vitest";
import { routine, WorkerPool } from "wool-ts";

/** The files of the runtime that the thread has loaded. */
const loadedFiles = routine(async () => {
  const { createRequire } = process.getBuiltinModule("node:module");
  return Object.keys(createRequire(`${process.cwd()}/main.cjs`).cache).map((path) => path.replace(/^.*[\\/]/, ""));
});

let pool: WorkerPool | undefined;
afterEach(async () => {
  await pool?.stop();
});

async function filesWith(execArgv: readonly string[]): Promise<string[]> {
  pool = await WorkerPool.start({ size: 1, workerOptions: { execArgv } });
  return (await pool.dispatch(loadedFiles)).filter((name) => /^thread-(?!main)/.test(name));
}

it("have the scripts of a task thread, under the names of their own files", async () => {
  expect(await filesWith([])).toEqual(["thread-scripts.cjs", "thread-service.cjs"]);
});

it("are left alone where errors are to name places in sources", async () => {
  expect(await filesWith(["--enable-source-maps"])).toEqual(["thread-service.cjs"]);
});
