import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NoWorkersAvailable, routine, WorkerLost, WorkerPool } from "wool-ts";
import { isRunning, killProcess } from "../support/processes.ts";
import { until } from "../support/until.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "wool-lost-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const pid = routine(async () => process.pid);

/** Writes down that it was run, and takes its process down the first time. */
const dieOnce = routine(async (file: string) => {
  const first = !existsSync(file);
  appendFileSync(file, `${process.pid}\n`);
  if (first) process.kill(process.pid, "SIGKILL");
  return process.pid;
});

function linesOf(file: string): string[] {
  return readFileSync(file, "utf8").trim().split("\n");
}

async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    (value) => ["it succeeded", value],
    (reason: unknown) => reason,
  );
}

describe("a worker that dies while it runs a task", () => {
  test("loses the call, which is not tried again", async () => {
    await using pool = await WorkerPool.start({ size: 2 });
    const file = join(folder, "once");
    const error = await reasonOf(pool.dispatch(dieOnce.with({ name: "dieOnce" }), file));
    expect(error).toBeInstanceOf(WorkerLost);
    expect(error).toMatchObject({
      code: "WOOL_WORKER_LOST",
      message: expect.stringMatching(/dieOnce.*may or may not have run/),
    });
    expect(await pool.dispatch(pid)).toBeGreaterThan(0);
    expect(linesOf(file)).toHaveLength(1);
    expect(pool.stats().failed).toBe(1);
  });

  test("loses nothing when the routine is idempotent: another worker runs it", async () => {
    await using pool = await WorkerPool.start({ size: 2 });
    const file = join(folder, "twice");
    const where = await pool.dispatch(dieOnce.with({ idempotent: true }), file);
    const lines = linesOf(file);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toBe(String(where));
    expect(lines[0]).not.toBe(lines[1]);
  });

  test("ends its streams with WorkerLost", async () => {
    await using pool = await WorkerPool.start({ size: 1 });
    const forever = routine(async function* () {
      yield process.pid;
      await new Promise<never>(() => undefined);
    });
    const stream = pool.dispatch(forever);
    const { value } = await stream.next();
    const pending = reasonOf(stream.next());
    killProcess(typeof value === "number" ? value : undefined);
    expect(await pending).toBeInstanceOf(WorkerLost);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test("leaves a pool of one with nobody, which says so", async () => {
    await using pool = await WorkerPool.start({ size: 1 });
    const [worker] = pool.workers.values();
    killProcess(worker?.pid);
    await until(() => pool.workers.size === 0, "the pool knows");
    const error = await reasonOf(pool.dispatch(pid));
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect(error).toMatchObject({ code: "WOOL_NO_WORKERS_AVAILABLE", errors: [] });
  });
});

describe("a task that does harm to its thread", () => {
  let pool: WorkerPool;
  let worker: number | undefined;

  beforeAll(async () => {
    pool = await WorkerPool.start({ size: 1 });
    worker = [...pool.workers.values()][0]?.pid;
  });
  afterAll(async () => {
    await pool.stop();
  });

  test("by ending it loses what ran there; the process goes on with a new one", async () => {
    const exit = routine(async () => {
      process.exit(3);
    });
    const other = reasonOf(pool.dispatch(routine(async () => await new Promise<never>(() => undefined))));
    await until(() => pool.stats().inFlight === 1, "another task is there");
    expect(await reasonOf(pool.dispatch(exit))).toBeInstanceOf(WorkerLost);
    expect(await other).toBeInstanceOf(WorkerLost);
    expect(await pool.dispatch(pid)).toBe(worker);
    expect(isRunning(worker)).toBe(true);
  });

  test("by an exception or a rejection that nobody waits for changes nothing for others", async () => {
    const stray = routine(async () => {
      setImmediate(() => {
        throw new RangeError("thrown by a stray callback, as this test wants");
      });
      void Promise.reject(new RangeError("rejected for nobody, as this test wants"));
      await new Promise((resolve) => setTimeout(resolve, 1));
      return "done";
    });
    expect(await pool.dispatch(stray)).toBe("done");
    expect(await pool.dispatch(pid)).toBe(worker);
  });
});
