import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ContextVar, currentTask, LocalWorker, routine, StaticDiscovery, WorkerLost, WorkerPool } from "wool-ts";
import { collect } from "../../support/collect.ts";
import { until } from "../../support/until.ts";

const MANY = 10_000;

/** Whether a task came in a pack, by who called its code. */
const cameInPack = routine(async (_item: number) => new Error("where").stack?.includes("TaskPack") === true);
const idOf = routine(async (_item: number) => currentTask()?.id ?? "");
const oddOnly = routine(async (item: number) => {
  if (item % 2 === 0) throw new RangeError(`even: ${item}`);
  return item;
});
const sum = routine(async (item: { values: number[] }) => {
  item.values.push(1000);
  return item.values.reduce((total, value) => total + value, 0);
});

let pool: WorkerPool;

// Workers of its own: where others have loaded much, or left something running, stacks take too long for packs.
beforeAll(async () => {
  pool = await WorkerPool.start({ size: 2 });
});
afterAll(async () => {
  await pool.stop();
});

function* numbers(count: number): Generator<number> {
  for (let i = 0; i < count; i++) yield i;
}

async function* slowly(count: number): AsyncGenerator<number> {
  for (let i = 0; i < count; i++) yield i;
}

async function packed(
  of: WorkerPool,
  items: Iterable<number> | AsyncIterable<number> = numbers(MANY),
): Promise<number> {
  return (await collect(of.map(cameInPack, items))).filter((came) => came).length;
}

describe("trivial items of a map", () => {
  test("travel in packs after a while, from sources of every kind", async () => {
    // On a busy machine items may take too long at first.
    await until(async () => (await packed(pool)) > 0, "items travel in packs");
    await until(async () => (await packed(pool, slowly(MANY))) > 0, "items of an asynchronous source do");
  });

  test("are tasks of their own: each has its id, its result or its failure, in order", async () => {
    const ids = await collect(pool.map(idOf, numbers(MANY)));
    expect(new Set(ids).size).toBe(MANY);
    const failures: unknown[] = [];
    const odd = await collect(pool.map(oddOnly, numbers(MANY), { stopOnError: false })).catch((error: unknown) => {
      failures.push(...(error as AggregateError).errors);
      return [];
    });
    expect(odd).toEqual([]);
    expect(failures).toHaveLength(MANY / 2);
    expect(failures.every((error) => error instanceof RangeError)).toBe(true);
    expect((failures.at(-1) as Error).message).toBe(`even: ${MANY - 2}`);
  });

  test("are taken as they are when they are read, and share nothing", async () => {
    const shared = { values: [0] };
    function* changing(): Generator<typeof shared> {
      for (let i = 0; i < MANY; i++) {
        shared.values[0] = i;
        yield shared;
      }
    }
    const sums = await collect(pool.map(sum, changing()));
    expect(sums).toEqual(Array.from(numbers(MANY), (i) => i + 1000));
  });

  test("see variables as they are when they are read", async () => {
    let offset = 0;
    const add = routine(async (item: number) => item + offset);
    function* changing(): Generator<number> {
      for (let i = 0; i < 3000; i++) {
        if (i % 1000 === 0) offset += 10_000;
        yield i;
      }
    }
    const seen = await collect(pool.map(add, changing()));
    expect(seen).toEqual(Array.from(numbers(3000), (i) => i + 10_000 * (1 + Math.floor(i / 1000))));
  });

  test("keep their context", async () => {
    const tenant = new ContextVar<string>("map-packs.tenant", { default: "none" });
    const tenantOf = routine(async (_item: number) => tenant.get());
    const ask = async (): Promise<Set<string>> => new Set(await collect(pool.map(tenantOf, numbers(MANY))));
    expect(await ask()).toEqual(new Set(["none"]));
    expect(await tenant.run("acme", ask)).toEqual(new Set(["acme"]));
    expect(await pool.run(ask)).toEqual(new Set(["none"]));
  });

  test("fail with the worker that had them, and the others go on", async () => {
    const own = await WorkerPool.start({ size: 2 });
    try {
      const fatal = routine(async (item: number) => {
        if (item === MANY) process.kill(process.pid, "SIGKILL");
        return item;
      });
      await collect(own.map(fatal, numbers(MANY)));
      const outcome = await collect(own.map(fatal, numbers(2 * MANY), { stopOnError: false })).catch((error) => error);
      expect(outcome).toBeInstanceOf(AggregateError);
      const { errors, message } = outcome as AggregateError;
      expect(errors.every((error) => error instanceof WorkerLost)).toBe(true);
      expect(message).toBe(`${errors.length} of ${2 * MANY} items failed`);
      expect(errors.length).toBeLessThan(2 * MANY);
    } finally {
      await own.stop();
    }
  });

  test("leave nothing behind when the map is left", async () => {
    let seen = 0;
    for await (const _came of pool.map(cameInPack, numbers(Number.POSITIVE_INFINITY))) if (++seen === MANY) break;
    await expect.poll(() => Object.values(pool.stats().workers).map(({ inFlight }) => inFlight)).toEqual([0, 0]);
    await expect.poll(() => pool.stats().inFlight + pool.stats().queued).toBe(0);
  });
});

describe("packs are not sent", () => {
  test.each([
    ["that runs few tasks at once", { maxConcurrency: 4 }],
    ["whose hook is asked about each task", { backpressure: () => false }],
    ["that takes few tasks", { limits: { maxLiveTasks: 9000 } }],
  ])("to a worker %s", async (_name, options) => {
    const worker = new LocalWorker(options);
    await worker.start();
    const own = await WorkerPool.start({
      discovery: new StaticDiscovery(worker.metadata === undefined ? [] : [worker.metadata]),
    });
    try {
      expect(await packed(own)).toBe(0);
    } finally {
      await own.stop();
      await worker.stop();
    }
  });

  test("with options that are for each call", async () => {
    expect(new Set(await collect(pool.map(cameInPack, numbers(MANY), { timeout: 60_000 })))).toEqual(new Set([false]));
  });
});
