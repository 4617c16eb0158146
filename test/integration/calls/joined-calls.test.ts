import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ContextVar,
  currentTask,
  events,
  LocalWorker,
  routine,
  StaticDiscovery,
  WorkerLost,
  WorkerPool,
} from "wool-ts";
import { until } from "../../support/until.ts";

const MANY = 2000;

/** Whether a call travelled in a pack, by who called its code. */
const cameInPack = routine(async (_item: number) => new Error("where").stack?.includes("TaskPack") === true);
const idOf = routine(async (_item: number) => currentTask()?.id ?? "");

let pool: WorkerPool;

// Workers of its own: where others have loaded much, or left something running, stacks take too long for packs.
beforeAll(async () => {
  pool = await WorkerPool.start({ size: 2 });
});
afterAll(async () => {
  await pool.stop();
});

const atOnce = <T>(call: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: MANY }, (_, i) => call(i)));

async function packed(call: (i: number) => Promise<boolean>): Promise<number> {
  return (await atOnce(call)).filter((came) => came).length;
}

/** Makes a routine's calls until its cost is known, so that further ones are joined. */
async function warm(call: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < 20; i++) await atOnce(call);
}

describe("many trivial calls at once", () => {
  test("are joined after a while; each keeps its id", async () => {
    await until(async () => (await packed(cameInPack)) > MANY / 2, "calls are joined");
    await warm(idOf);
    expect(new Set(await atOnce(idOf)).size).toBe(MANY);
  });

  test("each has its own result or error, and errors lead to the call", async () => {
    const oddOnly = routine(async (item: number) => {
      if (item % 2 === 0) throw new RangeError(`even: ${item}`);
      return item;
    });
    const settle = (): Promise<PromiseSettledResult<number>[]> =>
      Promise.allSettled(Array.from({ length: MANY }, (_, i) => oddOnly(i)));
    for (let i = 0; i < 10; i++) await settle();
    for (const [i, outcome] of (await settle()).entries()) {
      if (outcome.status === "fulfilled") expect(outcome.value).toBe(i);
      else expect(outcome.reason).toEqual(new RangeError(`even: ${i}`));
      expect(outcome.status).toBe(i % 2 === 0 ? "rejected" : "fulfilled");
    }
    async function whereItIsCalled(i: number): Promise<number> {
      return await oddOnly(i);
    }
    const stacks = await Promise.all(
      Array.from({ length: 100 }, (_, i) => whereItIsCalled(2 * i).catch((error: Error) => error.stack)),
    );
    expect(stacks.every((stack) => String(stack).includes("whereItIsCalled"))).toBe(true);
  });

  test("take their arguments and variables as they are at the call", async () => {
    let offset = 0;
    const add = routine(async ({ values }: { values: number[] }) => (values[0] ?? 0) + offset);
    const shared = { values: [0] };
    const call = (i: number): Promise<number> => {
      if (i === MANY / 2) offset += 10_000;
      shared.values[0] = i;
      return add(shared);
    };
    await warm(call);
    offset = 0;
    expect(await atOnce(call)).toEqual(Array.from({ length: MANY }, (_, i) => (i < MANY / 2 ? i : i + 10_000)));
  });

  test("that are slow now and then do not hold up the others for good, and wait for what they await alone", async () => {
    const later = routine(async (item: number) => {
      if (item === 7) await new Promise((resolve) => setTimeout(resolve, 50));
      return item;
    });
    const order: number[] = [];
    const call = (i: number): Promise<number> =>
      later(i).then((value) => {
        order.push(value);
        return value;
      });
    await warm(call);
    order.length = 0;
    expect(await atOnce(call)).toEqual(Array.from({ length: MANY }, (_, i) => i));
    expect(order.indexOf(7)).toBeGreaterThan(order.indexOf(8));
  });

  test("end with their worker, and others go on", async () => {
    const own = await WorkerPool.start({ size: 2 });
    try {
      const fatal = routine(async (item: number) => {
        if (item < 0) process.kill(process.pid, "SIGKILL");
        return item;
      });
      const call = fatal.with({ pool: own });
      const cameHere = cameInPack.with({ pool: own });
      await until(async () => (await packed(cameHere)) > MANY / 2, "calls of the pool are joined");
      await warm(call);
      const outcomes = await Promise.allSettled(Array.from({ length: MANY }, (_, i) => call(i === MANY / 2 ? -1 : i)));
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome.status === "fulfilled") expect(outcome.value).toBe(i);
        else expect(outcome.reason).toBeInstanceOf(WorkerLost);
      }
      expect(outcomes[MANY / 2]?.status).toBe("rejected");
      expect(outcomes.some(({ status }) => status === "fulfilled")).toBe(true);
    } finally {
      await own.stop();
    }
  });

  test("are counted one by one, and leave nothing behind", async () => {
    await warm(cameInPack);
    const before = pool.stats();
    const calls = atOnce(cameInPack);
    for (let during = pool.stats(); during.done - before.done < MANY; during = pool.stats()) {
      expect(during.inFlight + during.queued + during.done - before.done).toBe(MANY);
      await turn();
    }
    expect((await calls).includes(true)).toBe(true);
    const after = pool.stats();
    expect([after.inFlight, after.queued, after.done - before.done]).toEqual([0, 0, MANY]);
  });
});

describe("calls are not joined", () => {
  test("with options, in a context, or while events are observed", async () => {
    await until(async () => (await packed(cameInPack)) > MANY / 2, "calls are joined");
    expect(await packed(cameInPack.with({ timeout: 60_000 }))).toBe(0);
    const tenant = new ContextVar<string>("joined-calls.tenant", { default: "none" });
    expect(await tenant.run("acme", () => packed(cameInPack))).toBe(0);
    const handler = events.on("task-completed", () => undefined);
    try {
      expect(await packed(cameInPack)).toBe(0);
    } finally {
      handler[Symbol.dispose]();
    }
  });

  test("for a worker that runs few tasks at once", async () => {
    const worker = new LocalWorker({ maxConcurrency: 4 });
    await worker.start();
    const own = await WorkerPool.start({
      discovery: new StaticDiscovery(worker.metadata === undefined ? [] : [worker.metadata]),
    });
    try {
      const call = cameInPack.with({ pool: own });
      await warm(call);
      expect(await packed(call)).toBe(0);
    } finally {
      await own.stop();
      await worker.stop();
    }
  });
});
