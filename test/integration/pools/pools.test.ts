import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { currentTask, LocalWorker, PoolClosed, routine, TaskTimeout, WorkerPool } from "wool-ts";
import { isRunning, killProcess } from "../../support/processes.ts";
import { runProgram } from "../../support/run-program.ts";
import { until } from "../../support/until.ts";
import { openDoor, waitAtDoor } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await WorkerPool.start({ size: 2 });
});
afterAll(async () => {
  await pool.stop();
});

const pid = routine(async () => process.pid);
const fail = routine(async (message: string): Promise<never> => {
  throw new RangeError(message);
});
const pids = routine(async function* (times: number) {
  for (let i = 0; i < times; i++) yield process.pid;
});
const waitAt = routine(async (door: string) => {
  await waitAtDoor(door);
  return process.pid;
});
const open = routine(async (door: string) => openDoor(door));

function pidsOf(of: WorkerPool): number[] {
  return [...of.workers.values()].map((worker) => worker.pid).sort((a, b) => a - b);
}

describe("modes", () => {
  test("with neither size nor discovery there is a worker for each core", async () => {
    await using own = await WorkerPool.start();
    expect(own.workers.size).toBe(availableParallelism());
    expect(pidsOf(own)).toContain(await own.dispatch(pid));
  });

  test("with a size there are that many workers, each a process of its own", () => {
    const found = pidsOf(pool);
    expect(new Set(found).size).toBe(2);
    expect(found).not.toContain(process.pid);
    expect(found.every(isRunning)).toBe(true);
  });

  test("the view of its workers cannot be changed from outside", async () => {
    const workers = pool.workers as Map<string, unknown>;
    const [uid = ""] = workers.keys();
    expect(() => workers.delete(uid)).toThrow(TypeError);
    expect(() => workers.clear()).toThrow(TypeError);
    expect(() => workers.set("another", workers.get(uid))).toThrow(TypeError);
    expect([pool.workers.size, pool.workers.has(uid)]).toEqual([Object.keys(pool.stats().workers).length, true]);
  });

  test("workers listen on private sockets unless a host is given, then on TCP", async () => {
    for (const { address } of pool.workers.values()) expect(address).toMatch(/^unix:\//);
    await using own = await WorkerPool.start({ size: 1, workerOptions: { host: "127.0.0.1" } });
    const [worker] = own.workers.values();
    expect(worker?.address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(await own.dispatch(pid)).toBe(worker?.pid);
  });

  test("an IPv6 host works too", async () => {
    await using own = await WorkerPool.start({ size: 1, workerOptions: { host: "::1" } });
    const [worker] = own.workers.values();
    expect(worker?.address).toMatch(/^\[::1\]:\d+$/);
    expect(await own.dispatch(pid)).toBe(worker?.pid);
  });

  test("tags and extras are advertised by spawned workers", async () => {
    await using own = await WorkerPool.start({
      size: 1,
      tags: ["gpu"],
      workerOptions: { tags: ["big"], extra: { zone: "a" } },
    });
    const [worker] = own.workers.values();
    expect([...(worker?.tags ?? [])].sort()).toEqual(["big", "gpu"]);
    expect(worker?.extra).toEqual({ zone: "a" });
    expect(await own.dispatch(pid)).toBe(worker?.pid);
  });

  test("environment, arguments of node and modules to preload reach the worker", async () => {
    const surroundings = routine(async () => {
      const { woolTestPreloaded } = globalThis as { woolTestPreloaded?: string };
      return [process.env["WOOL_TEST_COLOUR"], process.execArgv, woolTestPreloaded];
    });
    const preload = [fileURLToPath(new URL("../../fixtures/preloaded.mjs", import.meta.url))];
    await using own = await WorkerPool.start({
      size: 1,
      workerOptions: { env: { WOOL_TEST_COLOUR: "blue" }, execArgv: ["--no-deprecation"], preload },
    });
    // The conditions that vitest starts its processes with are passed on.
    const conditions = process.execArgv.flatMap((option, at, all) =>
      option === "--conditions" ? [`--conditions=${all[at + 1]}`] : [],
    );
    const execArgv = [...conditions, "--no-deprecation"];
    expect(await own.dispatch(surroundings)).toEqual(["blue", execArgv, "preloaded"]);
  });
});

describe("which pool a call uses", () => {
  test("the most recently started one that is open, and the one before it again afterwards", async () => {
    expect(pidsOf(pool)).toContain(await pid());
    const newer = await WorkerPool.start({ size: 1 });
    expect(await pid()).toBe(pidsOf(newer)[0]);
    await newer.stop();
    expect(pidsOf(pool)).toContain(await pid());
  });

  test("the innermost scope, whatever was started last", async () => {
    await using newer = await WorkerPool.start({ size: 1 });
    expect(pidsOf(pool)).toContain(await pool.run(pid));
    await pool.run(async () => {
      expect(pidsOf(pool)).toContain(await pid());
      await newer.run(async () => {
        await Promise.resolve();
        expect(await pid()).toBe(pidsOf(newer)[0]);
      });
      expect(pidsOf(pool)).toContain(await pid());
    });
  });

  test("a pool started inside a scope is used inside its own scope, and the outer one again after it", async () => {
    await pool.run(async () => {
      await using inner = await WorkerPool.start({ size: 1 });
      expect(await inner.run(pid)).toBe(pidsOf(inner)[0]);
      expect(pidsOf(pool)).toContain(await pid());
    });
    expect(pidsOf(pool)).toContain(await pid());
  });

  test("what `with` says, before any scope", async () => {
    await using other = await WorkerPool.start({ size: 1 });
    expect(pidsOf(pool)).toContain(await other.run(() => pid.with({ pool })()));
    expect(await pool.run(() => pid.with({ pool: other })())).toBe(pidsOf(other)[0]);
  });

  test("a stream stays with the pool in force when its routine was called", async () => {
    await using other = await WorkerPool.start({ size: 1 });
    const stream = pool.run(() => pids(2));
    const [first] = pidsOf(other);
    expect((await other.run(() => stream.next())).value).not.toBe(first);
    await stream.return();
  });

  test("run returns what its function returns, and throws what it throws", () => {
    expect(pool.run(() => 5)).toBe(5);
    expect(() =>
      pool.run(() => {
        throw new RangeError("out");
      }),
    ).toThrow(RangeError);
  });
});

describe("dispatch", () => {
  test("calls functions and generators through this pool, with the options of the routine", async () => {
    await using other = await WorkerPool.start({ size: 1 });
    expect(await other.dispatch(pid)).toBe(pidsOf(other)[0]);
    const seen: number[] = [];
    for await (const one of other.dispatch(pids, 3)) seen.push(one);
    expect(seen).toEqual(Array<number | undefined>(3).fill(pidsOf(other)[0]));
    const aborted = AbortSignal.abort(new RangeError("never mind"));
    await expect(other.dispatch(pid.with({ signal: aborted }))).rejects.toThrow("never mind");
  });

  test("rejects with what the routine threw", async () => {
    await expect(pool.dispatch(fail, "nope")).rejects.toThrow(new RangeError("nope"));
  });

  test("spreads calls over all workers", async () => {
    const seen = await Promise.all(Array.from({ length: 40 }, () => pool.dispatch(pid)));
    expect([...new Set(seen)].sort((a, b) => a - b)).toEqual(pidsOf(pool));
  });
});

describe("broadcast", () => {
  test("runs once on every worker and says where", async () => {
    const results = await pool.broadcast(pid);
    const found = Object.fromEntries(
      results.map((one) => [one.uid, one.status === "fulfilled" ? one.value : one.reason]),
    );
    expect(found).toEqual(Object.fromEntries([...pool.workers.values()].map((worker) => [worker.uid, worker.pid])));
    expect(results).toHaveLength(2);
  });

  test("keeps to the options of the routine and of with()", async () => {
    const never = routine(async () => await new Promise<never>(() => undefined));
    const late = { status: "rejected", reason: expect.any(TaskTimeout) };
    expect(await pool.broadcast(never.with({ timeout: 20 }))).toMatchObject([late, late]);
    const signal = AbortSignal.abort(new RangeError("enough"));
    const aborted = { status: "rejected", reason: expect.any(RangeError) };
    expect(await pool.broadcast(never.with({ signal }))).toMatchObject([aborted, aborted]);
    expect(await pool.broadcast(pid.with({ needs: ["a tag that nobody has"] }))).toEqual([]);
    const named = routine(async () => currentTask()?.name);
    expect(await pool.broadcast(named.with({ name: "by another name" }))).toMatchObject([
      { value: "by another name" },
      { value: "by another name" },
    ]);
  });

  test("tells of a worker that failed beside those that did not", async () => {
    const [unlucky] = pidsOf(pool);
    const picky = routine(async (forbidden: number | undefined) => {
      if (process.pid === forbidden) throw new TypeError("not me");
      return "fine";
    });
    const results = await pool.broadcast(picky, unlucky);
    const failed = results.filter((result) => result.status === "rejected");
    expect(failed).toHaveLength(1);
    expect(pool.workers.get(failed[0]?.uid ?? "")?.pid).toBe(unlucky);
    expect(failed[0]?.reason).toBeInstanceOf(TypeError);
    expect(results.filter((result) => result.status === "fulfilled").map(({ value }) => value)).toEqual(["fine"]);
  });
});

describe("stats and workers", () => {
  test("count what is under way, done and failed, in all and for each worker", async () => {
    await using own = await WorkerPool.start({ size: 1 });
    const [uid = ""] = own.workers.keys();
    expect(own.stats()).toEqual({
      inFlight: 0,
      queued: 0,
      done: 0,
      failed: 0,
      shared: { values: 0, bytes: 0 },
      workers: { [uid]: { inFlight: 0, done: 0, failed: 0, responds: true, shared: { values: 0, bytes: 0 } } },
    });
    const waiting = [own.dispatch(waitAt, "stats"), own.dispatch(waitAt, "stats")];
    await until(() => own.stats().inFlight === 2, "both calls are at the worker");
    expect(own.stats()).toMatchObject({ inFlight: 2, queued: 0, done: 0, workers: { [uid]: { inFlight: 2 } } });
    await own.dispatch(open, "stats");
    await Promise.all(waiting);
    await own.dispatch(fail, "count me").catch(() => undefined);
    expect(own.stats()).toEqual({
      inFlight: 0,
      queued: 0,
      done: 3,
      failed: 1,
      shared: { values: 0, bytes: 0 },
      workers: { [uid]: { inFlight: 0, done: 3, failed: 1, responds: true, shared: { values: 0, bytes: 0 } } },
    });
  });

  test("the view of workers follows a worker that dies", async () => {
    await using own = await WorkerPool.start({ size: 2, worker: (options) => new LocalWorker(options) });
    const view = own.workers;
    const [victim, survivor] = [...view.values()];
    killProcess(victim?.pid);
    await until(() => view.size === 1, "the dead worker has left the pool");
    expect([...view.keys()]).toEqual([survivor?.uid]);
    expect(Object.keys(own.stats().workers)).toEqual([survivor?.uid]);
    expect(await own.dispatch(pid)).toBe(survivor?.pid);
  });
});

describe("a pool without a factory of workers", () => {
  test("is whole again after a worker has crashed", async () => {
    await using own = await WorkerPool.start({ size: 2 });
    const uids = [...own.workers.keys()].sort();
    const [victim] = pidsOf(own);
    killProcess(victim);
    await until(() => own.workers.size === 2 && !pidsOf(own).includes(victim ?? 0), "the pool is whole again");
    expect([...own.workers.keys()].sort()).toEqual(uids);
    expect((await own.broadcast(pid)).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  });
});

describe("a call without a pool", () => {
  test("runs here where none was started, and is refused where all have been stopped", async () => {
    const { stdout, stderr } = await runProgram("lifecycle/calls-after-stop.mjs");
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      before: "here",
      during: "elsewhere",
      after:
        "WOOL_POOL_CLOSED: whoAmI was called after all pools were stopped: call it before, start another pool, or run it in this process with whoAmI.local()",
      stream: "WOOL_POOL_CLOSED",
      local: "here",
      again: "elsewhere",
    });
  });
});

describe("stop", () => {
  test("lets running calls end when told to wait", async () => {
    const own = await WorkerPool.start({ size: 1 });
    const result = own.dispatch(waitAt, "stop");
    await until(() => own.stats().inFlight === 1, "the call is at the worker");
    const [worker] = own.workers.values();
    const helper = own.dispatch(open, "stop");
    await own.stop({ timeout: -1 });
    expect(await result).toBe(worker?.pid);
    await helper;
    expect(isRunning(worker?.pid)).toBe(false);
  });

  test("ends what still runs by default, and is idempotent", async () => {
    const own = await WorkerPool.start({ size: 1 });
    const [worker] = own.workers.values();
    const outcome = own.dispatch(waitAt, "never").catch((error: unknown) => error);
    await until(() => own.stats().inFlight === 1, "the call is at the worker");
    await Promise.all([own.stop(), own.stop()]);
    await own.stop();
    expect(await outcome).toBeInstanceOf(Error);
    expect(isRunning(worker?.pid)).toBe(false);
    await expect(own.dispatch(pid)).rejects.toBeInstanceOf(PoolClosed);
  });
});
