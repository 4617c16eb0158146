import { appendFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  currentTask,
  InvalidArgument,
  LocalWorker,
  PoolClosed,
  routine,
  TaskCancelled,
  WorkerConnection,
  WorkerLost,
  WorkerPool,
  WorkerStartError,
} from "wool-ts";
import { textOf, useNoteFiles } from "../support/note-files.ts";
import { expectNothingLeft, newChildren } from "../support/nothing-left.ts";
import { freeze, isRunning } from "../support/processes.ts";
import { reasonOf } from "../support/reason-of.ts";
import { fixture } from "../support/run-program.ts";
import { until } from "../support/until.ts";
import { watch } from "../support/watch.ts";

/** Tasks write to these files when something happens. */
const makeNote = useNoteFiles();

expectNothingLeft();

const pid = routine(async () => process.pid);
/** Ends when its file says so. */
const waitFor = routine(async (file: string) => {
  const { readFileSync: read, appendFileSync: append } = await import("node:fs");
  append(file, "begun ");
  while (!read(file, "utf8").includes("go")) await new Promise((resolve) => setTimeout(resolve, 5));
  return "done";
});
/** Ends when it is cancelled, and writes that down. */
const obey = routine(async (file: string) => {
  const { appendFileSync: append } = await import("node:fs");
  append(file, "begun ");
  const signal = currentTask()?.signal;
  await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
  append(file, "cancelled");
});
const never = routine(async (file: string) => {
  const { appendFileSync: append } = await import("node:fs");
  append(file, "begun ");
  await new Promise<never>(() => undefined);
});
const spin = routine(async (file: string) => {
  const { appendFileSync: append } = await import("node:fs");
  append(file, "begun ");
  for (;;);
});
const count = routine(async function* (file: string) {
  const { appendFileSync: append } = await import("node:fs");
  try {
    for (let i = 0; ; i++) yield i;
  } finally {
    append(file, "finally");
  }
});

/** Does not make up its mind if it is held. */
const held = async (isHeld: boolean): Promise<boolean> => {
  if (isHeld) await new Promise<never>(() => undefined);
  return false;
};

/** A pool of one worker, with a call of `task` under way. */
async function busyPool(task: (file: string) => Promise<unknown>) {
  // On a busy machine a task may need longer than the default to see that it is cancelled.
  const pool = await WorkerPool.start({ size: 1, workerOptions: { shutdownGracePeriod: 30_000 } });
  const [worker] = pool.workers.values();
  const file = makeNote();
  const outcome = reasonOf(pool.dispatch(task, file));
  await until(() => textOf(file).includes("begun"), "the task runs");
  return { pool, worker, file, outcome };
}

describe("pool.stop()", () => {
  test("with 0 cancels what runs, and lets it clean up", async () => {
    const { pool, worker, file, outcome } = await busyPool(obey);
    await pool.stop({ timeout: 0 });
    expect(await outcome).toBeInstanceOf(TaskCancelled);
    expect(textOf(file)).toBe("begun cancelled");
    expect(isRunning(worker?.pid)).toBe(false);
  });

  test("with some time lets calls end that do so within it", async () => {
    const { pool, file, outcome } = await busyPool(waitFor);
    const stopping = pool.stop({ timeout: 20_000 });
    writeFileSync(file, "go");
    await stopping;
    expect(await outcome).toEqual(["it succeeded", "done"]);
  });

  test("with some time cancels what does not end within it", async () => {
    const { pool, file, outcome } = await busyPool(obey);
    await pool.stop({ timeout: 50 });
    expect(await outcome).toBeInstanceOf(TaskCancelled);
    expect(textOf(file)).toBe("begun cancelled");
  });

  test.each([-1, Number.POSITIVE_INFINITY, 1e12])("with %d waits for all, also for nested calls", async (timeout) => {
    await using other = await WorkerPool.start({ size: 1 });
    const nest = routine(async (file: string) => [await waitFor(file), await pid()]);
    const { pool, worker, file, outcome } = await busyPool(nest);
    const stopping = watch(pool.stop({ timeout }));
    await other.dispatch(pid);
    expect(stopping.settled).toBe(false);
    writeFileSync(file, "go");
    await stopping.promise;
    expect(await outcome).toEqual(["it succeeded", ["done", worker?.pid]]);
  });

  test("with 0 tells calls that no worker has taken that the pool is closed", async () => {
    const pool = await WorkerPool.start({
      size: 1,
      workerOptions: { maxConcurrency: 1, backpressure: async ({ task }) => await held(task.name === "undecided") },
    });
    const file = makeNote();
    const running = reasonOf(pool.dispatch(obey, file));
    await until(() => textOf(file).includes("begun"), "the task runs");
    const undecided = reasonOf(pool.dispatch(pid.with({ name: "undecided" })));
    const waiting = Array.from({ length: 9 }, () => reasonOf(pool.dispatch(pid)));
    await pool.stop();
    expect(await running).toBeInstanceOf(TaskCancelled);
    for (const outcome of [undecided, ...waiting]) expect(await outcome).toBeInstanceOf(PoolClosed);
  });

  test("again with less time hurries", async () => {
    const { pool, file, outcome } = await busyPool(obey);
    const first = pool.stop({ timeout: -1 });
    await Promise.all([pool.stop({ timeout: 60_000 }), pool.stop({ timeout: -1 }), pool.stop(), first]);
    expect(await outcome).toBeInstanceOf(TaskCancelled);
    expect(textOf(file)).toBe("begun cancelled");
  });

  test("in the middle of a stream with 0 ends it and runs its finally", async () => {
    const pool = await WorkerPool.start({ size: 1 });
    const file = makeNote();
    const stream = pool.dispatch(count, file);
    expect((await stream.next()).value).toBe(0);
    await pool.stop();
    expect(await reasonOf(stream.next())).toBeInstanceOf(TaskCancelled);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(textOf(file)).toBe("finally");
  });

  test("in the middle of a stream waits, when told so, until it is left", async () => {
    const pool = await WorkerPool.start({ size: 1 });
    const file = makeNote();
    const seen: number[] = [];
    let stopping: Promise<void> | undefined;
    for await (const value of pool.dispatch(count, file)) {
      seen.push(value);
      if (value === 2) stopping = pool.stop({ timeout: -1 });
      if (value === 10) break;
    }
    await stopping;
    expect(seen).toHaveLength(11);
    expect(textOf(file)).toBe("finally");
  });

  test.each([0, 50])("with %d is not held up by a task that ignores it", async (timeout) => {
    const { pool, outcome } = await busyPool(never);
    await pool.stop({ timeout });
    expect(await outcome).toBeInstanceOf(TaskCancelled);
  });

  test.each([0, 50])("with %d is not held up by a task that blocks its thread", async (timeout) => {
    const { pool, outcome } = await busyPool(spin);
    await pool.stop({ timeout });
    expect(await outcome).toBeInstanceOf(WorkerLost);
  });

  test.each([0, 50])("with %d ends a worker that is frozen", async (timeout) => {
    const { pool, worker, outcome } = await busyPool(waitFor);
    await freeze(worker?.pid ?? 0);
    await pool.stop({ timeout });
    expect(await outcome).toBeInstanceOf(WorkerLost);
  });

  test("without a limit waits for a worker that is frozen, until it is hurried", async () => {
    const { pool, worker, outcome } = await busyPool(waitFor);
    await freeze(worker?.pid ?? 0);
    const first = watch(pool.stop({ timeout: -1 }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(first.settled).toBe(false);
    await pool.stop();
    await first.promise;
    expect(await outcome).toBeInstanceOf(WorkerLost);
  });

  test("without a limit goes on when a frozen worker thaws", async () => {
    const { pool, worker, file, outcome } = await busyPool(waitFor);
    await freeze(worker?.pid ?? 0);
    const stopping = pool.stop({ timeout: -1 });
    writeFileSync(file, "go");
    process.kill(worker?.pid ?? 0, "SIGCONT");
    await stopping;
    expect(await outcome).toEqual(["it succeeded", "done"]);
  });

  test("does not wait for what a task started and left behind", async () => {
    const leave = routine(async () => {
      const { spawn } = await import("node:child_process");
      return spawn("sleep", ["600"], { stdio: "inherit", detached: true }).pid;
    });
    const pool = await WorkerPool.start({ size: 1 });
    const left = await pool.dispatch(leave);
    await pool.stop();
    expect(isRunning(left)).toBe(true);
    process.kill(left ?? 0, "SIGKILL");
    await until(() => !isRunning(left), "it has ended");
  });

  test.each([Number.NaN, "1 s", null])("refuses %s for a timeout, and stops nothing", async (timeout) => {
    await using pool = await WorkerPool.start({ size: 1 });
    // @ts-expect-error Not a number of milliseconds.
    const error = await reasonOf(pool.stop({ timeout }));
    expect(error).toBeInstanceOf(InvalidArgument);
    expect(error).toMatchObject({
      message: expect.stringMatching(/pool\.stop\(\).*"timeout" must be a number of mil/),
    });
    expect(await pool.dispatch(pid)).toBeGreaterThan(0);
  });
});

describe.each(["worker", "connection"])("%s.stop()", (which) => {
  /** A worker by itself, with a call of `task` under way, and what stops it. */
  async function busyWorker(task: (file: string) => Promise<unknown>) {
    const worker = new LocalWorker();
    await worker.start();
    const connection = new WorkerConnection(worker.metadata ?? "");
    const file = makeNote();
    const outcome = reasonOf(connection.dispatch(task, file));
    await until(() => textOf(file).includes("begun"), "the task runs");
    const stop = (timeout: number) => (which === "worker" ? worker.stop({ timeout }) : connection.stop({ timeout }));
    return { worker, connection, file, outcome, stop };
  }

  async function end({ worker, connection }: Awaited<ReturnType<typeof busyWorker>>): Promise<void> {
    await until(() => !isRunning(worker.metadata?.pid), "the process has ended");
    await connection[Symbol.asyncDispose]();
    await worker.stop();
  }

  test("with 0 cancels what runs", async () => {
    const busy = await busyWorker(obey);
    await busy.stop(0);
    expect(await busy.outcome).toBeInstanceOf(TaskCancelled);
    expect(textOf(busy.file)).toBe("begun cancelled");
    await end(busy);
  });

  test("with some time waits that long and then cancels", async () => {
    const busy = await busyWorker(obey);
    await busy.stop(50);
    expect(await busy.outcome).toBeInstanceOf(TaskCancelled);
    await end(busy);
  });

  test("without a limit waits for all, and new calls are refused meanwhile", async () => {
    const busy = await busyWorker(waitFor);
    const stopping = watch(busy.stop(-1));
    await until(async () => {
      const refused = await reasonOf(busy.connection.dispatch(pid));
      return refused instanceof Error && refused.message.includes("stopping");
    }, "the worker refuses calls");
    expect(stopping.settled).toBe(false);
    writeFileSync(busy.file, "go");
    await stopping.promise;
    expect(await busy.outcome).toEqual(["it succeeded", "done"]);
    await end(busy);
  });

  test("again with less time hurries", async () => {
    const busy = await busyWorker(obey);
    await Promise.all([busy.stop(-1), busy.stop(60_000), busy.stop(0)]);
    expect(await busy.outcome).toBeInstanceOf(TaskCancelled);
    await end(busy);
  });
});

describe("a signal to a worker process", () => {
  test("SIGTERM cancels what runs, and ends it", async () => {
    const { pool, worker, file, outcome } = await busyPool(obey);
    process.kill(worker?.pid ?? 0, "SIGTERM");
    expect(await outcome).toBeInstanceOf(TaskCancelled);
    await until(() => pool.workers.size === 0, "the pool knows");
    expect(textOf(file)).toBe("begun cancelled");
    await pool.stop();
  });

  test.each([600_000, Number.POSITIVE_INFINITY])(
    "SIGTERM twice does not wait for what was cancelled, with a grace period of %d",
    async (shutdownGracePeriod) => {
      const worker = new LocalWorker({ shutdownGracePeriod });
      await worker.start();
      await using connection = new WorkerConnection(worker.metadata ?? "");
      const file = makeNote();
      const outcome = reasonOf(connection.dispatch(never, file));
      await until(() => textOf(file).includes("begun"), "the task runs");
      const { pid: process_ = 0 } = worker.metadata ?? {};
      process.kill(process_, "SIGTERM");
      expect(await outcome).toBeInstanceOf(TaskCancelled);
      expect(isRunning(process_)).toBe(true);
      process.kill(process_, "SIGTERM");
      await until(() => !isRunning(process_), "the process has ended");
      await worker.stop();
    },
  );

  test("SIGINT waits for what runs, and ends it", async () => {
    const { pool, worker, file, outcome } = await busyPool(waitFor);
    process.kill(worker?.pid ?? 0, "SIGINT");
    await until(async () => (await reasonOf(pool.dispatch(pid))) instanceof Error, "the worker refuses calls");
    expect(isRunning(worker?.pid)).toBe(true);
    writeFileSync(file, "go");
    expect(await outcome).toEqual(["it succeeded", "done"]);
    await until(() => !isRunning(worker?.pid), "the process has ended");
    await pool.stop();
  });

  test("SIGINT twice cancels what runs", async () => {
    const { pool, worker, file, outcome } = await busyPool(obey);
    process.kill(worker?.pid ?? 0, "SIGINT");
    await until(async () => (await reasonOf(pool.dispatch(pid))) instanceof Error, "the worker refuses calls");
    process.kill(worker?.pid ?? 0, "SIGINT");
    expect(await outcome).toBeInstanceOf(TaskCancelled);
    await until(() => !isRunning(worker?.pid), "the process has ended");
    expect(textOf(file)).toBe("begun cancelled");
    await pool.stop();
  });
});

describe("a worker that is stopped while it starts", () => {
  test.each([0, -1, 60_000])("with %d ends at once, though its start would take for ever", async (timeout) => {
    const worker = new LocalWorker({ preload: [fixture("lifecycle/hangs.mjs")] });
    const starting = reasonOf(worker.start());
    await until(() => newChildren().length > 0, "its process runs");
    await Promise.all([worker.stop({ timeout }), worker.stop({ timeout })]);
    expect(await starting).toBeInstanceOf(WorkerStartError);
    expect(worker.metadata).toBeUndefined();
  });
});

test("a worker that stops sends a large result whole first: the task is not run again", async () => {
  const note = makeNote();
  await using pool = await WorkerPool.start({ size: 2, workerOptions: { host: "127.0.0.1" } });
  const large = routine(async (file: string) => {
    appendFileSync(file, `${process.pid}\n`);
    return new Uint8Array(50_000_000);
  });
  const result = pool.dispatch(large, note);
  await until(() => textOf(note) !== "", "the task runs");
  const worker = [...pool.workers.values()].find((each) => textOf(note) === `${each.pid}\n`);
  if (worker === undefined) throw new Error("nobody runs the task");
  await using connection = new WorkerConnection(worker.address);
  await connection.stop({ timeout: -1 });
  expect(await result).toHaveLength(50_000_000);
  expect(textOf(note)).toBe(`${worker.pid}\n`);
});
