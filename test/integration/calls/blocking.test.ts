import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, TaskTimeout, WorkerLost, WorkerPool } from "wool-ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

const pid = routine(async () => process.pid);

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "wool-blocking-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Never lets go of its thread. Makes a file just before that. */
const loopForever = routine(async (file?: string) => {
  if (file !== undefined) writeFileSync(file, "");
  for (;;);
});

/** Blocks its thread without taking time of a core. */
const blockLater = routine(async (file?: string) => {
  await new Promise((resolve) => setImmediate(resolve));
  if (file !== undefined) writeFileSync(file, "");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});

/** Waits without blocking. */
const waitForever = routine(async () => {
  await new Promise<never>(() => undefined);
});

const burn = routine(async (ms: number) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
  return process.pid;
});

describe("a task that blocks its thread", () => {
  let pool: WorkerPool;

  beforeAll(async () => {
    pool = await WorkerPool.start({ size: 1 });
  });
  afterAll(async () => {
    await pool.stop();
  });

  test.each([
    ["at once", loopForever],
    ["after an await", blockLater],
  ])("%s beyond its timeout ends with its thread, and the worker goes on", async (_when, loop) => {
    const before = await pool.dispatch(pid);
    expect(await reasonOf(pool.dispatch(loop.with({ timeout: 50 })))).toBeInstanceOf(TaskTimeout);
    expect(await pool.dispatch(pid)).toBe(before);
  });

  test.each([
    ["at once", loopForever],
    ["after an await", blockLater],
  ])("%s after it was cancelled ends with its thread, and the worker goes on", async (when, loop) => {
    const before = await pool.dispatch(pid);
    const controller = new AbortController();
    const reason = new Error("enough");
    const file = join(folder, when);
    const result = reasonOf(pool.dispatch(loop.with({ signal: controller.signal }), file));
    await until(() => existsSync(file), "the task blocks its thread");
    controller.abort(reason);
    expect(await result).toBe(reason);
    expect(await pool.dispatch(pid)).toBe(before);
  });

  test("in a step of a generator ends in the same way", async () => {
    const before = await pool.dispatch(pid);
    const stuck = routine(async function* () {
      yield 1;
      for (;;);
    });
    const stream = pool.dispatch(stuck.with({ timeout: 200 }));
    expect(await stream.next()).toEqual({ done: false, value: 1 });
    expect(await reasonOf(stream.next())).toBeInstanceOf(TaskTimeout);
    expect(await pool.dispatch(pid)).toBe(before);
  });

  test("takes what else ran on its thread with it, and nothing of other threads", async () => {
    await using wide = await WorkerPool.start({ size: 1, workerOptions: { threads: 2 } });
    const thread = routine(async () => (await import("node:worker_threads")).threadId);
    const hold = routine(async function* () {
      yield (await import("node:worker_threads")).threadId;
      await new Promise<never>(() => undefined);
    });
    // A task that waits on each thread, and then one that blocks one of them.
    const streams = Array.from({ length: 6 }, () => wide.dispatch(hold));
    const threads = await Promise.all(streams.map(async (stream) => (await stream.next()).value));
    expect(new Set(threads).size).toBe(2);
    const blocked = reasonOf(wide.dispatch(loopForever.with({ timeout: 50 })));
    const ends = streams.map(async (stream) => await reasonOf(stream.next()));
    expect(await blocked).toBeInstanceOf(TaskTimeout);
    const [index, lost] = await Promise.race(ends.map(async (end, i) => [i, await end] as const));
    expect(lost).toBeInstanceOf(WorkerLost);
    const fault = "a task blocked it beyond its timeout (the task was loopForever)";
    expect(lost).toMatchObject({ message: expect.stringContaining(fault) });
    const gone = threads[index];
    const same = ends.filter((_, i) => threads[i] === gone);
    for (const error of await Promise.all(same)) expect(error).toBeInstanceOf(WorkerLost);
    const now = await Promise.all(Array.from({ length: 20 }, () => wide.dispatch(thread)));
    expect(now).not.toContain(gone);
    const others = streams.filter((_, i) => threads[i] !== gone);
    expect(others.length).toBeGreaterThan(0);
    await Promise.all(others.map((stream) => Promise.race([stream.return(undefined), Promise.resolve()])));
  });

  test("does not cost the pool its worker, also when others waited behind it", async () => {
    const before = await pool.dispatch(pid);
    const blocked = reasonOf(pool.dispatch(loopForever.with({ timeout: 50 })));
    await until(() => pool.stats().inFlight === 1, "the task is handed out");
    const behind = Array.from({ length: 20 }, () => reasonOf(pool.dispatch(pid)));
    expect(await blocked).toBeInstanceOf(TaskTimeout);
    await Promise.all(behind);
    expect(pool.workers.size).toBe(1);
    expect(await pool.dispatch(pid)).toBe(before);
  });

  test("without being overdue is left alone, whoever else is", async () => {
    const waiting = reasonOf(pool.dispatch(waitForever.with({ timeout: 100 })));
    const controller = new AbortController();
    const unwanted = reasonOf(pool.dispatch(waitForever.with({ signal: controller.signal })));
    const burnt = pool.dispatch(burn, 2500);
    const started = pool.dispatch(pid);
    controller.abort(new Error("no longer wanted"));
    expect(await waiting).toBeInstanceOf(TaskTimeout);
    expect(await unwanted).toMatchObject({ message: "no longer wanted" });
    expect(await burnt).toBe(await started);
  });
});

test("a task that exhausts its memory ends its thread, not its worker", async () => {
  await using pool = await WorkerPool.start({
    size: 1,
    workerOptions: { resourceLimits: { maxOldGenerationSizeMb: 40 } },
  });
  const before = await pool.dispatch(pid);
  const exhaust = routine(async () => {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 1000 }, (_, i) => ({ i })));
  });
  const error = await reasonOf(pool.dispatch(exhaust));
  expect(error).toBeInstanceOf(WorkerLost);
  expect(error).toMatchObject({ message: expect.stringContaining("memory") });
  expect(await pool.dispatch(pid)).toBe(before);
});
