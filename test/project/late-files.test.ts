import { afterAll, beforeAll, expect, it } from "vitest";
import { routine, WorkerPool } from "wool-ts";

/** The files of parts that the thread has loaded. */
const lateFiles = routine(async () => {
  const { createRequire } = process.getBuiltinModule("node:module");
  return Object.keys(createRequire(`${process.cwd()}/main.cjs`).cache)
    .map((path) => path.replace(/^.*[\\/]/, ""))
    .filter((name) => name.startsWith("late-"));
});
const makePoint = routine(async () => new Point());
const countNested = routine(async () => (await lateFiles()).length);
const startOf = routine(async () => typeof WorkerPool.start);

class Point {
  x = 1;
}

let pool: WorkerPool;
beforeAll(async () => {
  pool = await WorkerPool.start({ size: 1 });
});
afterAll(async () => {
  await pool.stop();
});

it("are loaded by a task thread when they are needed, and not before", async () => {
  expect(await pool.dispatch(lateFiles)).toEqual([]);
  expect((await pool.dispatch(makePoint)).x).toBe(1);
  expect(await pool.dispatch(lateFiles)).toEqual(["late-capture.cjs"]);
  expect(await pool.dispatch(countNested)).toBeGreaterThan(1);
  expect(await pool.dispatch(lateFiles)).toEqual(["late-capture.cjs", "late-proxy.cjs"]);
  expect(await pool.dispatch(startOf)).toBe("function");
  expect(await pool.dispatch(lateFiles)).toContain("late-caller.cjs");
});
