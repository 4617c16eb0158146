import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  LocalWorker,
  NoWorkersAvailable,
  routine,
  StaticDiscovery,
  TaskCancelled,
  WorkerConnection,
  WorkerLost,
  type WorkerMetadata,
  WorkerPool,
} from "wool-ts";
import { isRunning, killProcess } from "../support/processes.ts";
import { reasonOf } from "../support/reason-of.ts";
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

describe("a worker that dies while it runs a task", () => {
  test("loses the call, which is not tried again", async () => {
    await using pool = await WorkerPool.start({ size: 2 });
    const file = join(folder, "once");
    const error = await reasonOf(pool.dispatch(dieOnce.with({ name: "dieOnce" }), file));
    expect(error).toBeInstanceOf(WorkerLost);
    // It names the address once.
    expect(String(error).match(/unix:/g)).toHaveLength(1);
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

  test("leaves a pool of one with nobody, which says so, unless it is started again", async () => {
    await using pool = await WorkerPool.start({ size: 1, worker: (options) => new LocalWorker(options) });
    const [worker] = pool.workers.values();
    killProcess(worker?.pid);
    await until(() => pool.workers.size === 0, "the pool knows");
    const error = await reasonOf(pool.dispatch(pid));
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    const lost = expect.stringMatching(/was lost: it was ended by SIGKILL$/);
    expect(error).toMatchObject({ code: "WOOL_NO_WORKERS_AVAILABLE", errors: [{ message: lost }] });
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
    const other = pool.dispatch(routine(async () => await new Promise<never>(() => undefined)));
    other.catch(() => undefined);
    await until(() => pool.stats().inFlight === 1, "another task is there");
    const said = expect.stringMatching(
      /task thread .* ended: process\.exit\(3\) was called in it \(the task was exit\)/,
    );
    for (const call of [pool.dispatch(exit), other]) {
      const error = await reasonOf(call);
      expect(error).toBeInstanceOf(WorkerLost);
      expect(error).toMatchObject({ message: said });
      const [, ...lines] = (error as Error).stack?.split("\n") ?? [];
      expect(lines.filter((line) => /wool-ts\/(?:src|dist)|node:/.test(line))).toEqual([]);
    }
    expect(await pool.dispatch(pid)).toBe(worker);
    expect(isRunning(worker)).toBe(true);
  });

  test("by ending it costs nothing to idempotent tasks there, which the new one runs", async () => {
    const file = join(folder, "innocent");
    const innocent = routine(
      async () => {
        appendFileSync(file, "begun\n");
        if (linesOf(file).length === 1) await new Promise<never>(() => undefined);
        return process.pid;
      },
      { idempotent: true },
    );
    const call = pool.dispatch(innocent);
    await until(() => existsSync(file), "it runs");
    expect(await reasonOf(pool.dispatch(routine(async () => process.exit(1))))).toBeInstanceOf(WorkerLost);
    expect(await call).toBe(worker);
    expect(linesOf(file)).toEqual(["begun", "begun"]);
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
    let written = "";
    const stderr = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      written += String(text);
      return true;
    });
    try {
      expect(await pool.dispatch(stray.with({ name: "stray" }))).toBe("done");
      await until(() => written.includes("a stray callback") && written.includes("for nobody"), "both are reported");
    } finally {
      stderr.mockRestore();
    }
    const [uid] = pool.workers.keys();
    expect(written).toContain(
      `[${uid}] uncaught exception in task stray, and the worker goes on: RangeError: thrown by a stray callback`,
    );
    expect(written).toContain(
      `[${uid}] unhandled rejection in task stray, and the worker goes on: RangeError: rejected for nobody`,
    );
    expect(await pool.dispatch(pid)).toBe(worker);
  });

  test("by process.abort() is told that a thread cannot", async () => {
    const error = await reasonOf(pool.dispatch(routine(async () => process.abort())));
    expect(error).toMatchObject({ code: "ERR_WORKER_UNSUPPORTED_OPERATION" });
    expect(await pool.dispatch(pid)).toBe(worker);
  });
});

describe("the thread that takes the place of one that ended", () => {
  const exit = routine(async () => process.exit(1));

  /** A module that says when it is being loaded, and is loaded only while its gate is open. */
  function gatedModule(name: string) {
    const [module, loading, gate] = ["mjs", "loading", "gate"].map((end) => join(folder, `${name}.${end}`)) as [
      string,
      string,
      string,
    ];
    writeFileSync(
      module,
      `import { existsSync, writeFileSync } from "node:fs";
      writeFileSync(${JSON.stringify(loading)}, "");
      while (!existsSync(${JSON.stringify(gate)})) await new Promise((resolve) => setTimeout(resolve, 1));
      globalThis.woolTestPreloaded = true;`,
    );
    const open = (): void => writeFileSync(gate, "");
    open();
    return {
      module,
      open,
      shut: () => {
        for (const file of [gate, loading]) rmSync(file);
      },
      isLoading: () => existsSync(loading),
    };
  }

  test("takes no task before its modules are there and its hook can be asked", async () => {
    const gated = gatedModule("slow");
    await using pool = await WorkerPool.start({
      size: 1,
      workerOptions: { preload: [gated.module], backpressure: ({ task }) => task.name === "forbidden" },
    });
    const isPreloaded = routine(async () => "woolTestPreloaded" in globalThis);
    gated.shut();
    expect(await reasonOf(pool.dispatch(exit))).toBeInstanceOf(WorkerLost);
    await until(gated.isLoading, "another thread starts");
    const forbidden = reasonOf(pool.dispatch(isPreloaded.with({ name: "forbidden" })));
    const preloaded = pool.dispatch(isPreloaded);
    await until(() => pool.stats().inFlight > 0, "a call is handed to it");
    gated.open();
    expect(await preloaded).toBe(true);
    expect(await forbidden).toBeInstanceOf(NoWorkersAvailable);
  });

  test("may be ended at once as well, and the worker goes on", async () => {
    const gated = gatedModule("late");
    await using pool = await WorkerPool.start({ size: 1, workerOptions: { preload: [gated.module] } });
    const worker = await pool.dispatch(pid);
    for (let i = 0; i < 2; i++) {
      gated.shut();
      expect(await reasonOf(pool.dispatch(exit))).toBeInstanceOf(WorkerLost);
      await until(gated.isLoading, "another thread starts");
      const call = reasonOf(pool.dispatch(exit));
      await until(() => pool.stats().inFlight === 1, "the call is handed to it");
      gated.open();
      expect(await call).toBeInstanceOf(WorkerLost);
      expect(await pool.dispatch(pid)).toBe(worker);
    }
  });

  test("finishes what it was handed while it started, also when its worker is told to stop then", async () => {
    const gated = gatedModule("stopping");
    await using worker = new LocalWorker({ preload: [gated.module] });
    await worker.start();
    await using pool = await WorkerPool.start({ discovery: new StaticDiscovery([worker.metadata as WorkerMetadata]) });
    gated.shut();
    expect(await reasonOf(pool.dispatch(exit))).toBeInstanceOf(WorkerLost);
    await until(gated.isLoading, "another thread starts");
    const call = pool.dispatch(pid);
    await until(() => pool.stats().inFlight === 1, "the call is handed to it");
    // Answered on the same connection, so the call has arrived before.
    await using connection = new WorkerConnection(worker.metadata as WorkerMetadata);
    await connection.idleTime();
    const stopped = worker.stop({ timeout: -1 });
    gated.open();
    expect(await call).toBe(worker.metadata?.pid);
    await stopped;
  });

  test("ends the worker if it cannot be started, which says why", async () => {
    const module = join(folder, "once.mjs");
    const flag = join(folder, "flag");
    writeFileSync(flag, "");
    writeFileSync(
      module,
      `import { existsSync } from "node:fs";
      if (!existsSync(${JSON.stringify(flag)})) throw new Error("the licence has run out");`,
    );
    await using pool = await WorkerPool.start({ size: 1, workerOptions: { preload: [module] } });
    const [uid] = pool.workers.keys();
    rmSync(flag);
    let written = "";
    const stderr = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      written += String(text);
      return true;
    });
    try {
      expect(await reasonOf(pool.dispatch(exit))).toBeInstanceOf(WorkerLost);
      await until(() => pool.workers.size === 0, "the pool knows");
      await until(() => written.includes("licence"), "it is reported");
    } finally {
      stderr.mockRestore();
    }
    expect(written).toContain(
      `[${uid}] the worker ends: a task thread has ended and cannot be replaced: ` +
        "a module to preload could not be loaded: Error: the licence has run out",
    );
  });
});

describe("a task that ends its process", () => {
  const kill = routine(async (signal: NodeJS.Signals | undefined) => {
    process.kill(process.pid, signal);
    return await new Promise<never>(() => undefined);
  });

  test("by process.kill(process.pid) stops the worker as SIGTERM does: what runs is cancelled", async () => {
    await using pool = await WorkerPool.start({ size: 1 });
    const other = reasonOf(pool.dispatch(routine(async () => await new Promise<never>(() => undefined))));
    await until(() => pool.stats().inFlight === 1, "another task is there");
    expect(await reasonOf(pool.dispatch(kill, undefined))).toBeInstanceOf(TaskCancelled);
    expect(await other).toBeInstanceOf(TaskCancelled);
    await until(() => pool.workers.size === 0, "the pool knows");
  });

  test.each(["SIGKILL", "SIGSEGV", "SIGABRT"] as const)("by %s loses what runs there", async (signal) => {
    await using pool = await WorkerPool.start({ size: 1, worker: (options) => new LocalWorker(options) });
    expect(await reasonOf(pool.dispatch(kill, signal))).toBeInstanceOf(WorkerLost);
    await until(() => pool.workers.size === 0, "the pool knows");
  });
});
