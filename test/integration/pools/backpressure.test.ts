import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type BackpressureLike,
  ContextVar,
  InvalidArgument,
  LocalWorker,
  NoWorkersAvailable,
  routine,
  SerializationError,
  StaticDiscovery,
  WorkerPool,
} from "wool-ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

const pid = routine(async () => process.pid);
const add = routine(async (x: number, y: number) => x + y);

const poolWith = (backpressure: BackpressureLike, size = 1): Promise<WorkerPool> =>
  WorkerPool.start({ size, workerOptions: { backpressure } });

describe("a backpressure hook", () => {
  test("that has nothing against a task lets it run", async () => {
    await using pool = await poolWith(() => false);
    await using other = await poolWith(async () => false);
    expect([await pool.dispatch(add, 1, 2), await other.dispatch(add, 3, 4)]).toEqual([3, 7]);
  });

  test.each([
    ["at once", () => true],
    [
      "after a while",
      async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return true;
      },
    ],
  ] satisfies [string, BackpressureLike][])(
    "that refuses %s moves the call on, until nobody is left",
    async (_when, hook) => {
      await using pool = await poolWith(hook, 2);
      const error = await reasonOf(pool.dispatch(add.with({ name: "add" }), 1, 2));
      expect(error).toBeInstanceOf(NoWorkersAvailable);
      const { errors } = error as NoWorkersAvailable;
      expect(errors.map((each) => (each as Error).message)).toEqual([
        expect.stringContaining("its backpressure hook refused the task"),
        expect.stringContaining("its backpressure hook refused the task"),
      ]);
      expect(pool.workers.size).toBe(2);
    },
  );

  test("sees the task and the load, and what it captured", async () => {
    const forbidden = new Set(["secret"]);
    await using pool = await poolWith(({ task, running, waiting }) => {
      if (task.id === "" || task.caller !== undefined) throw new Error("a task without a name");
      return forbidden.has(task.name) || running + waiting >= 2;
    });
    expect(await pool.dispatch(add.with({ name: "open" }), 1, 1)).toBe(2);
    expect(await reasonOf(pool.dispatch(add.with({ name: "secret" }), 1, 1))).toBeInstanceOf(NoWorkersAvailable);
    const wait = routine(async function* () {
      yield 1;
      await new Promise<never>(() => undefined);
    });
    const streams = [pool.dispatch(wait), pool.dispatch(wait)];
    for (const stream of streams) await stream.next();
    expect(await reasonOf(pool.dispatch(add, 1, 1))).toBeInstanceOf(NoWorkersAvailable);
    await streams[0]?.return(undefined);
    await until(async () => (await pool.dispatch(add, 1, 1).catch(() => 0)) === 2, "there is room again");
  });

  test("sees the caller's context variables, also in nested calls, and nobody else's", async () => {
    class Tenant {
      readonly name: string;
      constructor(name: string) {
        this.name = name;
      }
      get isGuest(): boolean {
        return this.name === "guest";
      }
    }
    const tenant = new ContextVar<Tenant>("tenant", { default: new Tenant("nobody") });
    await using pool = await poolWith(({ task }) => task.name === "own" && tenant.get().isGuest);
    const own = routine(async () => tenant.get().name, { name: "own" });
    const nested = routine(async () => await own());
    const guest = new Tenant("guest");
    expect(await pool.dispatch(own)).toBe("nobody");
    expect(await tenant.run(new Tenant("ada"), () => pool.dispatch(own))).toBe("ada");
    expect(await reasonOf(tenant.run(guest, () => pool.dispatch(own)))).toBeInstanceOf(NoWorkersAvailable);
    expect(await reasonOf(tenant.run(guest, () => pool.dispatch(nested)))).toBeInstanceOf(NoWorkersAvailable);
    expect(await pool.dispatch(nested)).toBe("nobody");
  });

  test("makes a call go to a worker that takes it", async () => {
    const options = { tags: ["picky"] };
    await using pool = await WorkerPool.start({
      size: 2,
      worker: (given) => new LocalWorker(count++ === 0 ? { ...given, ...options, backpressure: () => true } : given),
    });
    const willing = [...pool.workers.values()].find((worker) => !worker.tags.has("picky"));
    const results = await Promise.all(Array.from({ length: 30 }, () => pool.dispatch(pid)));
    expect(new Set(results)).toEqual(new Set([willing?.pid]));
  });
  let count = 0;

  test.each([
    [
      "throws",
      () => {
        throw new RangeError("no idea");
      },
      /backpressure hook failed: no idea/,
    ],
    ["rejects", () => Promise.reject(new Error("later")), /backpressure hook failed: later/],
    ["returns nonsense", (() => "yes") as unknown as BackpressureLike, /it returned 'yes', not true or false/],
  ] satisfies [string, BackpressureLike, RegExp][])(
    "that %s is a fault of its worker",
    async (_what, hook, message) => {
      await using pool = await poolWith(hook);
      const error = await reasonOf(pool.dispatch(add, 1, 2));
      expect(error).toBeInstanceOf(NoWorkersAvailable);
      expect((error as NoWorkersAvailable).errors.map(String)).toEqual([expect.stringMatching(message)]);
    },
  );

  test("that is asked while the call is cancelled runs nothing", async () => {
    const folder = await mkdtemp(join(tmpdir(), "wool-hook-"));
    const [asked, decided] = [join(folder, "asked"), join(folder, "decided")];
    try {
      await using pool = await poolWith(async ({ task }) => {
        if (task.name !== "ran") return false;
        writeFileSync(asked, "");
        while (!existsSync(decided)) await new Promise((resolve) => setImmediate(resolve));
        return false;
      });
      const controller = new AbortController();
      const ran = routine(async () => {
        (globalThis as { ran?: boolean }).ran = true;
      });
      const call = reasonOf(pool.dispatch(ran.with({ name: "ran", signal: controller.signal })));
      await until(() => existsSync(asked), "the hook is asked");
      controller.abort(new Error("never mind"));
      expect(await call).toMatchObject({ message: "never mind" });
      // What is sent later arrives later: the worker knows then.
      await pool.dispatch(pid);
      writeFileSync(decided, "");
      expect(await pool.dispatch(routine(async () => (globalThis as { ran?: boolean }).ran === true))).toBe(false);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("that has not made up its mind when its worker stops lets the call go to another", async () => {
    const folder = await mkdtemp(join(tmpdir(), "wool-hook-"));
    const asked = join(folder, "asked");
    try {
      const options = {
        backpressure: async () => {
          writeFileSync(asked, "");
          return await new Promise<boolean>(() => undefined);
        },
      };
      await using undecided = new LocalWorker(options);
      await using other = new LocalWorker();
      await Promise.all([undecided.start(), other.start()]);
      const workers = [undecided, other].flatMap(({ metadata }) => (metadata === undefined ? [] : [metadata]));
      await using pool = await WorkerPool.start({
        discovery: new StaticDiscovery(workers),
        loadBalancer: { delegate: () => workers.map(({ uid }) => uid) },
      });
      const call = pool.dispatch(pid);
      await until(() => existsSync(asked), "the hook is asked");
      await undecided.stop({ timeout: -1 });
      expect(await call).toBe(other.metadata?.pid);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("that is no function, or cannot travel, is refused before anything is started", async () => {
    const nonsense = { workerOptions: { backpressure: 3 as unknown as BackpressureLike } };
    expect(await reasonOf(WorkerPool.start({ size: 1, ...nonsense }))).toBeInstanceOf(InvalidArgument);
    const seen = new WeakRef({});
    const error = await reasonOf(
      WorkerPool.start({ size: 1, workerOptions: { backpressure: (task) => seen.deref() === task } }),
    );
    expect(error).toBeInstanceOf(SerializationError);
    expect(error).toMatchObject({ path: expect.stringContaining("backpressure -> seen") });
  });
});
