import { describe, expect, test } from "vitest";
import { LocalWorker, perWorker, routine, SerializationError, WorkerLost, WorkerPool, WorkerStartError } from "wool-ts";
import { textOf, useNoteFiles } from "../../support/note-files.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

const makeNote = useNoteFiles();

expectNothingLeft();

const wordsIn = (file: string): string[] => textOf(file).split(" ").slice(0, -1);

async function note(file: string, word: string): Promise<void> {
  const { appendFileSync } = await import("node:fs");
  appendFileSync(file, `${word} `);
}
const noteIn = routine(note);

describe("setup", () => {
  test("runs in each thread before its first task, awaited, and what it returns when the worker stops", async () => {
    const file = makeNote();
    const setup = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      Object.assign(globalThis, { woolTestReady: true });
      await note(file, "set-up");
      return async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await note(file, "undone");
      };
    };
    const isReady = routine(async () => "woolTestReady" in globalThis);
    const pool = await WorkerPool.start({ size: 1, workerOptions: { setup, threads: 2 } });
    expect(wordsIn(file)).toEqual(["set-up", "set-up"]);
    expect(await Promise.all([pool.dispatch(isReady), pool.dispatch(isReady)])).toEqual([true, true]);
    await pool.stop();
    expect(wordsIn(file)).toEqual(["set-up", "set-up", "undone", "undone"]);
  });

  test.each(["asyncDispose", "dispose"] as const)("may return a disposable: %s", async (kind) => {
    const file = makeNote();
    const setup = async () => {
      const { appendFileSync } = await import("node:fs");
      return { [Symbol[kind]]: () => appendFileSync(file, `${kind} `) };
    };
    await using worker = new LocalWorker({ setup });
    await worker.start();
    expect(wordsIn(file)).toEqual([]);
    await worker.stop({ timeout: -1 });
    expect(wordsIn(file)).toEqual([kind]);
  });

  test("is undone after what tasks have made, and before what it has made itself", async () => {
    const file = makeNote();
    const inner = perWorker(
      () => "inner",
      async () => await note(file, "inner"),
    );
    const outer = perWorker(
      () => "outer",
      async () => await note(file, "outer"),
    );
    const setup = () => {
      inner.get();
      return () => note(file, "setup");
    };
    const pool = await WorkerPool.start({ size: 1, workerOptions: { setup, shutdownGracePeriod: 20_000 } });
    await pool.dispatch(routine(async () => outer.get()));
    await pool.stop({ timeout: 10_000 });
    expect(wordsIn(file)).toEqual(["outer", "setup", "inner"]);
  });

  test("keeps a worker from starting when it fails, and the error has what it threw", async () => {
    class NoLicence extends Error {
      readonly seats = 0;
    }
    const setup = async () => {
      throw new NoLicence("the licence has run out");
    };
    const error = await reasonOf(WorkerPool.start({ size: 1, workerOptions: { setup } }));
    expect(error).toBeInstanceOf(WorkerStartError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/setup failed: .*the licence has run out/),
      cause: { message: "the licence has run out", seats: 0 },
    });
    expect((error as Error).cause).toBeInstanceOf(NoLicence);
  });

  test("that cannot travel is refused before anything is started", async () => {
    const socket = new (await import("node:net")).Socket();
    const setup = () => socket.address();
    expect(await reasonOf(WorkerPool.start({ size: 1, workerOptions: { setup } }))).toBeInstanceOf(SerializationError);
    const wrong = { setup: 5 as unknown as () => unknown };
    expect(() => new LocalWorker(wrong)).toThrow(
      /option "setup" must be a function that prepares a task thread, not 5/,
    );
  });

  test("runs again in a thread that takes the place of one that ended", async () => {
    const file = makeNote();
    await using pool = await WorkerPool.start({ size: 1, workerOptions: { setup: () => note(file, "set-up") } });
    expect(await reasonOf(pool.dispatch(routine(async () => process.exit(1))))).toBeInstanceOf(WorkerLost);
    await pool.dispatch(noteIn, file, "task");
    expect(wordsIn(file)).toEqual(["set-up", "set-up", "task"]);
  });

  test("whose undoing fails or never ends does not keep the worker from stopping", async () => {
    const file = makeNote();
    const failing = async () => {
      throw new RangeError("as this test wants");
    };
    const hanging = () => () => {
      setInterval(() => undefined, 1000);
      return new Promise(() => undefined);
    };
    const made = perWorker(
      () => 1,
      async () => await note(file, "other"),
    );
    const workerOptions = { setup: () => failing, shutdownGracePeriod: 20_000 };
    const pool = await WorkerPool.start({ size: 1, workerOptions });
    await pool.dispatch(routine(async () => made.get()));
    await pool.stop();
    expect(wordsIn(file)).toEqual(["other"]);
    const stuck = await WorkerPool.start({ size: 1, workerOptions: { setup: hanging, shutdownGracePeriod: 50 } });
    await stuck.stop({ timeout: -1 });
  });
});

describe("what finished tasks have left running when their worker stops", () => {
  const leave = routine(async (file: string) => {
    setTimeout(() => void note(file, "timer"), 100);
    // A promise that nobody waits for.
    void (async () => {
      const { readFile } = await import("node:fs/promises");
      for (let i = 0; i < 20; i++) await readFile(file);
      await note(file, "promise");
    })();
  });

  test.each([0, -1, 5000])("may end, with a timeout of %d", async (timeout) => {
    const file = makeNote();
    const pool = await WorkerPool.start({ size: 1, workerOptions: { shutdownGracePeriod: 20_000 } });
    await pool.dispatch(leave, file);
    await pool.stop({ timeout });
    expect(wordsIn(file).sort()).toEqual(["promise", "timer"]);
  });

  test("has the grace period and no more: intervals and sockets", async () => {
    const file = makeNote();
    const idle = routine(async () => {
      const { createServer, connect } = await import("node:net");
      setInterval(() => undefined, 1000);
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const address = server.address();
      if (typeof address === "object" && address !== null) connect(address.port, "127.0.0.1");
    });
    const pool = await WorkerPool.start({ size: 1, workerOptions: { shutdownGracePeriod: 2000 } });
    await pool.dispatch(idle);
    await pool.dispatch(leave, file);
    await pool.stop({ timeout: -1 });
    expect(wordsIn(file).sort()).toEqual(["promise", "timer"]);
  });

  test("does not keep a worker that is told to hurry", async () => {
    const pool = await WorkerPool.start({ size: 1, workerOptions: { shutdownGracePeriod: Number.POSITIVE_INFINITY } });
    const [worker] = pool.workers.values();
    const file = makeNote();
    await pool.dispatch(
      routine(async () => {
        setInterval(() => void note(file, "tick"), 5);
      }),
    );
    const stopped = pool.stop({ timeout: -1 });
    await until(() => wordsIn(file).length > 2, "it ticks");
    // The first signal finds a worker that settles already.
    process.kill(worker?.pid ?? 0, "SIGTERM");
    await stopped;
  });
});
