import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { currentTask, routine, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { isRunning } from "../../support/processes.ts";
import { takeAWhile } from "../../support/take-a-while.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(2);
});
afterAll(async () => {
  await pool.stop();
});

interface Visit {
  readonly id: string | undefined;
  readonly caller: string | undefined;
  readonly pid: number;
}

function visit(): Visit {
  const task = currentTask();
  return { id: task?.id, caller: task?.caller, pid: process.pid };
}

const descend = routine(async (levels: number): Promise<Visit[]> => {
  const here = visit();
  return levels === 1 ? [here] : [here, ...(await descend(levels - 1))];
});

const steps = routine(async function* (amount: number): AsyncGenerator<Visit[]> {
  for (let i = 0; i < amount; i++) yield [visit(), ...(await descend(1))];
});

const pid = routine(async () => {
  takeAWhile();
  return process.pid;
});

function expectChain(visits: readonly Visit[]): void {
  expect(visits[0]?.caller).toBeUndefined();
  for (let i = 1; i < visits.length; i++) expect(visits[i]?.caller).toBe(visits[i - 1]?.id);
  expect(new Set(visits.map(({ id }) => id)).size).toBe(visits.length);
  const workers = [...pool.workers.values()].map((worker) => worker.pid);
  for (const { pid: where } of visits) expect(workers).toContain(where);
}

describe("caller chains", () => {
  test("lead through every level back to the first call", async () => {
    const visits = await descend(5);
    expect(visits).toHaveLength(5);
    expectChain(visits);
  });

  test("hold for calls made by a generator, at every step", async () => {
    const ids = new Set<string | undefined>();
    for await (const visits of steps(3)) {
      expect(visits).toHaveLength(2);
      expectChain(visits);
      ids.add(visits[0]?.id);
    }
    expect(ids.size).toBe(1);
  });

  test("hold for generators that tasks and generators consume", async () => {
    const summarize = routine(async () => {
      const all: Visit[][] = [];
      for await (const visits of steps(2)) all.push([visit(), ...visits]);
      return all;
    });
    const relay = routine(async function* () {
      for await (const visits of steps(2)) yield [visit(), ...visits];
      yield* steps(1);
    });
    const summary = await summarize();
    expect(summary).toHaveLength(2);
    for (const visits of summary) expectChain(visits);
    const relayed: Visit[][] = [];
    for await (const visits of relay()) relayed.push(visits);
    expect(relayed.map(({ length }) => length)).toEqual([3, 3, 2]);
    for (const visits of relayed.slice(0, 2)) expectChain(visits);
    expect(relayed[2]?.[0]?.caller).toBe(relayed[0]?.[0]?.id);
  });

  test("hold in what a task does later, in timers and after awaits", async () => {
    const later = routine(async () => {
      const before = currentTask()?.id;
      const [viaTimer] = await new Promise<Visit[]>((resolve, reject) => {
        setTimeout(() => void descend(1).then(resolve, reject), 1);
      });
      return { before, after: currentTask()?.id, viaTimer: viaTimer?.caller };
    });
    const { before, after, viaTimer } = await later();
    expect(before).toBeTypeOf("string");
    expect([after, viaTimer]).toEqual([before, before]);
  });
});

test("nested calls are spread over the pool, from worker to worker", async () => {
  const spread = routine(async (calls: number) => await Promise.all(Array.from({ length: calls }, () => pid())));
  const before = pool.stats().done;
  const seen = await spread(30);
  expect(new Set(seen)).toEqual(new Set([...pool.workers.values()].map((worker) => worker.pid)));
  expect(pool.stats().done).toBe(before + 1);
});

test("errors keep their class through every level", async () => {
  class Deep extends Error {
    override name = "Deep";
    level = 0;
  }
  const fail = routine(async (levels: number): Promise<never> => {
    if (levels > 0) return await fail(levels - 1);
    throw Object.assign(new Deep("down here"), { level: 3 });
  });
  const error = await fail(3).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Deep);
  expect(error).toMatchObject({ name: "Deep", message: "down here", level: 3 });
});

test("a nested error can be caught by the task as what it is", async () => {
  const refuse = routine(async (): Promise<never> => {
    throw new RangeError("too far");
  });
  const recover = routine(async () => {
    try {
      return await refuse();
    } catch (error) {
      return error instanceof RangeError ? `recovered from ${error.message}` : "something else";
    }
  });
  expect(await recover()).toBe("recovered from too far");
});

describe("on a single worker", () => {
  let single: WorkerPool;

  beforeAll(async () => {
    single = await WorkerPool.start({ size: 1, workerOptions: { maxConcurrency: 1 } });
  });
  afterAll(async () => {
    await single.stop();
  });

  test("a recursion deeper than every limit completes", async () => {
    const depth = routine(async (left: number): Promise<number> => (left === 0 ? 0 : 1 + (await depth(left - 1))));
    expect(await single.dispatch(depth, 500)).toBe(500);
  });

  test("arguments are copies although the call does not leave the worker", async () => {
    const change = routine(async (list: number[]) => {
      list.push(99);
      return list;
    });
    const compare = routine(async () => {
      const mine = [1];
      const [changed, here] = [await change(mine), process.pid];
      return { mine, changed, same: mine === changed, here };
    });
    expect(await single.dispatch(compare)).toEqual({
      mine: [1],
      changed: [1, 99],
      same: false,
      here: [...single.workers.values()][0]?.pid,
    });
  });

  test("a generator that is consumed by a task of the same worker gets its turn", async () => {
    const count = routine(async function* (to: number) {
      for (let i = 0; i < to; i++) yield i;
    });
    const sum = routine(async (to: number) => {
      let total = 0;
      for await (const value of count(to)) total += value;
      return total;
    });
    expect(await single.dispatch(sum, 20)).toBe(190);
  });

  test("a generator that waits to be asked for more leaves the worker to others", async () => {
    const count = routine(async function* (to: number) {
      for (let i = 0; i < to; i++) yield i;
    });
    const add = routine(async (x: number, y: number) => x + y);
    const sum = routine(async (to: number) => {
      let total = 0;
      for await (const value of count(to)) total = await add(total, value);
      return total;
    });
    expect(await single.dispatch(sum, 20)).toBe(190);
    expect(await single.run(() => sum.local(20))).toBe(190);
    const zip = routine(async (streams: number, to: number) => {
      const sources = Array.from({ length: streams }, () => count(to));
      const rows = [];
      for (let i = 0; i < to; i++) rows.push(await Promise.all(sources.map(async (each) => (await each.next()).value)));
      return rows;
    });
    expect(await single.dispatch(zip, 3, 2)).toEqual([
      [0, 0, 0],
      [1, 1, 1],
    ]);
  });
});

test("branching recursion completes on two workers", async () => {
  const fib = routine(async (n: number): Promise<number> => {
    if (n < 2) return n;
    const [a, b] = await Promise.all([fib(n - 1), fib(n - 2)]);
    return a + b;
  });
  expect(await pool.dispatch(fib, 14)).toBe(377);
});

test("nested calls work between TCP workers", async () => {
  await using own = await WorkerPool.start({ size: 2, workerOptions: { host: "127.0.0.1" } });
  const workers = new Set([...own.workers.values()].map((worker) => worker.pid));
  const visits = await own.dispatch(descend, 4);
  expect(visits.every(({ pid: where }) => workers.has(where))).toBe(true);
  expect(visits[3]?.caller).toBe(visits[2]?.id);
});

test("a task can start a pool of its own, and its calls go there inside its scope only", async () => {
  const startOwn = routine(async () => {
    await using inner = await WorkerPool.start({ size: 1 });
    const [worker] = inner.workers.values();
    const inside = await inner.run(() => pid());
    return { inner: worker?.pid ?? 0, inside, outside: await pid() };
  });
  const { inner, inside, outside } = await startOwn();
  expect(inside).toBe(inner);
  expect([...pool.workers.values()].map((worker) => worker.pid)).toContain(outside);
  expect(isRunning(inner)).toBe(false);
});

test("what a task made and calls with gets a copy of its variables, also where it lands on the same worker", async () => {
  const countInside = routine(async () => {
    let count = 0;
    const state = { count: 0 };
    const up = (): number => ++count;
    const captured = routine(async () => [++count, ++state.count, process.pid] as const);
    const passed = routine(async (fn: () => number) => fn());
    const bound = routine(async (fn: () => number) => fn());
    const runs: (readonly [number, number, number])[] = [];
    for (let i = 0; i < 4; i++) runs.push(await captured());
    const others: number[] = [];
    for (let i = 0; i < 4; i++) others.push(await passed(up), await bound(up.bind(undefined)));
    return { runs, others, count, state, pid: process.pid };
  });
  const { runs, others, count, state, pid: own } = await countInside();
  expect(runs.some(([, , where]) => where === own)).toBe(true);
  expect(runs.map(([first, second]) => [first, second])).toEqual(runs.map(() => [1, 1]));
  expect(others).toEqual(others.map(() => 1));
  expect({ count, state }).toEqual({ count: 0, state: { count: 0 } });
});
