import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  InvalidArgument,
  LocalDiscovery,
  NoWorkersAvailable,
  ResilientWorker,
  routine,
  WorkerConnection,
  WorkerLost,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { expectNothingLeft, newChildren } from "../support/nothing-left.ts";
import { isRunning, killProcess } from "../support/processes.ts";
import { reasonOf } from "../support/reason-of.ts";
import { until } from "../support/until.ts";

const notes = mkdtempSync(join(tmpdir(), "wool-resilient-"));

expectNothingLeft();
afterAll(() => rmSync(notes, { recursive: true }));

const pidsOf = (pool: WorkerPool): number[] => [...pool.workers.values()].map((worker) => worker.pid);

const pid = routine(async () => process.pid);
const never = routine(async () => await new Promise<never>(() => undefined));
const mark = routine(async (file: string, token: string) => {
  appendFileSync(file, `${token}\n`);
  return process.pid;
});

/** Crashes as it is loaded, as long as there is a file that says so. */
function makeCrasher(): { readonly module: string; readonly crash: (crashes: boolean) => void } {
  const name = join(notes, Math.random().toString(36).slice(2));
  const flag = `${name}.crash`;
  const module = `${name}.mjs`;
  writeFileSync(
    module,
    `import { existsSync, writeSync } from "node:fs";
     if (existsSync(${JSON.stringify(flag)})) {
       writeSync(2, "the disk is full\\n");
       process.kill(process.pid, "SIGKILL");
       await new Promise(() => setInterval(() => undefined, 1000));
     }`,
  );
  return { module, crash: (crashes) => (crashes ? writeFileSync(flag, "") : rmSync(flag, { force: true })) };
}

describe("a pool of ResilientWorkers", () => {
  test("is whole again after each of its workers was killed under load, and nothing has run twice", async () => {
    const pool = await WorkerPool.start({ size: 3, worker: (options) => new ResilientWorker(options) });
    const uids = [...pool.workers.keys()].sort();
    const file = join(notes, "tokens");
    writeFileSync(file, "");
    const kept: string[] = [];
    let made = 0;
    let loading = true;
    const load = async (): Promise<void> => {
      while (loading) {
        const token = String(++made);
        const outcome = await reasonOf(pool.dispatch(mark, file, token));
        if (Array.isArray(outcome)) kept.push(token);
        else expect(outcome).toBeInstanceOf(WorkerLost);
      }
    };
    const loads = Array.from({ length: 8 }, load);
    for (const victim of pidsOf(pool)) {
      killProcess(victim);
      await until(() => pool.workers.size === 3 && !pidsOf(pool).includes(victim), "the pool is whole again");
    }
    loading = false;
    await Promise.all(loads);
    expect([...pool.workers.keys()].sort()).toEqual(uids);
    const results = await pool.broadcast(pid);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    const lines = readFileSync(file, "utf8").trim().split("\n");
    expect(new Set(lines).size).toBe(lines.length);
    const ran = new Set(lines);
    expect(kept.filter((token) => !ran.has(token))).toEqual([]);
    expect(kept.length).toBeGreaterThan(0);
    await pool.stop();
  });

  test("of one has calls wait for it while it is away, and loses what it was running", async () => {
    const pool = await WorkerPool.start({ size: 1, worker: (options) => new ResilientWorker(options) });
    const [uid = "", first] = [...pool.workers.keys(), ...pidsOf(pool)];
    const lost = reasonOf(pool.dispatch(never));
    await until(() => pool.stats().inFlight === 1, "the call is at the worker");
    killProcess(first as number);
    expect(await lost).toBeInstanceOf(WorkerLost);
    await until(() => pool.workers.size === 0 || !pidsOf(pool).includes(first as number), "the pool knows");
    const second = await pool.dispatch(pid);
    expect(second).not.toBe(first);
    expect(pool.workers.get(uid as string)?.pid).toBe(second);
    await pool.stop();
  });

  test("of one tries an idempotent call once more with the new process", async () => {
    const pool = await WorkerPool.start({ size: 1, worker: (options) => new ResilientWorker(options) });
    const file = join(notes, "idempotent");
    const dieOnce = routine(
      async () => {
        if (existsSync(file)) return process.pid;
        writeFileSync(file, "");
        process.kill(process.pid, "SIGKILL");
        return await new Promise<number>(() => undefined);
      },
      { idempotent: true },
    );
    const where = await pool.dispatch(dieOnce);
    expect(pidsOf(pool)).toEqual([where]);
    await pool.stop();
  });

  test("gives a worker up that crashes again and again, and says so with what it wrote", async () => {
    const { module, crash } = makeCrasher();
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on("warning", listen);
    try {
      const pool = await WorkerPool.start({
        size: 1,
        workerOptions: { preload: [module] },
        worker: (options) => new ResilientWorker(options, { firstDelay: 1, crashLimit: 3 }),
      });
      const [uid = ""] = pool.workers.keys();
      const [first] = pidsOf(pool);
      crash(true);
      killProcess(first);
      await until(() => !pidsOf(pool).includes(first ?? 0), "the pool knows");
      const reason = (await reasonOf(pool.dispatch(pid))) as NoWorkersAvailable;
      expect(reason).toBeInstanceOf(NoWorkersAvailable);
      expect(reason.message).toMatch(/all workers that were found or started are gone.*crashed 3 times/s);
      expect(reason.errors.map(String)).toEqual([expect.stringContaining("the disk is full")]);
      await until(() => warnings.length > 0, "there is a warning");
      const [{ message } = new Error("no warning")] = warnings;
      expect(message).toContain(`worker ${uid} crashed 3 times within 60000 ms and is not started again`);
      expect(message).toContain("the disk is full");
      expect([pool.workers.size, newChildren()]).toEqual([0, []]);
      crash(false);
      await pool.stop();
    } finally {
      process.off("warning", listen);
    }
  });

  test("comes back from a start that failed in between", async () => {
    const { module, crash } = makeCrasher();
    const pool = await WorkerPool.start({
      size: 1,
      workerOptions: { preload: [module] },
      worker: (options) => new ResilientWorker(options, { firstDelay: 1, crashLimit: 1000 }),
    });
    const [first] = pidsOf(pool);
    crash(true);
    killProcess(first);
    const starts = new Set<number>();
    await until(() => {
      for (const child of newChildren()) starts.add(child);
      return starts.size >= 2;
    }, "it was started again");
    crash(false);
    expect(await pool.dispatch(pid)).not.toBe(first);
    await pool.stop();
  });

  test.each(["the backoff", "the restart"])("can be stopped during %s", async (when) => {
    const { module, crash } = makeCrasher();
    const firstDelay = when === "the backoff" ? 1_000_000 : 1;
    const pool = await WorkerPool.start({
      size: 2,
      workerOptions: { preload: [module] },
      worker: (options) => new ResilientWorker(options, { firstDelay, longestDelay: firstDelay, crashLimit: 1000 }),
    });
    const victims = pidsOf(pool);
    crash(true);
    for (const victim of victims) killProcess(victim);
    if (when === "the backoff") await until(() => pool.workers.size === 0, "the pool knows");
    else await until(() => newChildren().some((child) => !victims.includes(child)), "one is being started");
    const waiting = reasonOf(pool.dispatch(pid));
    await Promise.all([pool.stop(), pool.stop()]);
    expect(await waiting).toBeInstanceOf(Error);
  });

  test("that is stopped does not start anything again", async () => {
    const pool = await WorkerPool.start({
      size: 2,
      worker: (options) => new ResilientWorker(options, { firstDelay: 0 }),
    });
    for (const victim of pidsOf(pool)) killProcess(victim);
    await pool.stop();
    expect(newChildren()).toEqual([]);
  });
});

describe("a ResilientWorker", () => {
  test("that is told to end, by a signal or a request, is not started again", async () => {
    for (const how of ["SIGTERM", "SIGINT", "request"] as const) {
      const worker = new ResilientWorker({}, { firstDelay: 0 });
      const seen: string[] = [];
      worker.watch((change) => seen.push(change.kind === "lost" ? `lost for good: ${change.final}` : "back"));
      await worker.start();
      const { pid: first = 0, address = "" } = worker.metadata ?? {};
      if (how !== "request") process.kill(first, how);
      else {
        await using connection = new WorkerConnection(address);
        await connection.stop();
      }
      await until(() => seen.length > 0, "it has ended");
      expect(seen).toEqual(["lost for good: true"]);
      expect(newChildren()).toEqual([]);
      await worker.stop();
    }
  });

  test.each([{}, { host: "127.0.0.1" }])("keeps its uid and its address (%j)", async (options) => {
    const worker = new ResilientWorker({ ...options, tags: ["a"] });
    await worker.start();
    const first = worker.metadata;
    killProcess(first?.pid);
    await until(() => worker.metadata?.pid !== first?.pid, "it is back");
    expect(worker.metadata).toEqual({ ...first, pid: worker.metadata?.pid });
    await using connection = new WorkerConnection(first?.address ?? "");
    expect(await connection.dispatch(pid)).toBe(worker.metadata?.pid);
    await worker.stop();
    expect(isRunning(worker.metadata?.pid)).toBe(false);
  });

  test("is followed by those who found it through a discovery", async () => {
    const namespace = "resilient";
    const discovery = new LocalDiscovery(namespace);
    const pool = await WorkerPool.start({ size: 1, discovery, worker: (options) => new ResilientWorker(options) });
    {
      await using proxy = new WorkerProxy({ namespace });
      const first = await proxy.dispatch(pid);
      killProcess(first);
      await until(
        () => [...proxy.workers.values()].some((worker) => worker.pid !== first),
        "the proxy knows the new one",
      );
      expect(await proxy.dispatch(pid)).toBe(pidsOf(pool)[0]);
    }
    await pool.stop();
  });

  test.each([
    [{ crashLimit: 0 }, /ResilientWorker: option "crashLimit" must be a whole number, 1 or more, not 0/],
    [{ firstDelay: -1 }, /"firstDelay" must be a number of milliseconds/],
    [{ window: "1 h" }, /"window" must be/],
    [{ delay: 5 }, /has no option "delay"/],
  ])("refuses %j", (restart, message) => {
    // @ts-expect-error Wrong on purpose.
    const make = (): ResilientWorker => new ResilientWorker({}, restart);
    expect(make).toThrow(InvalidArgument);
    expect(make).toThrow(message);
  });
});
