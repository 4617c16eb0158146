import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type LoadBalancerLike, RoundRobinLoadBalancer, routine, type TaskInfo, WorkerLost, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

const pid = routine(async () => process.pid);
/** Says that it runs and waits until all others have said so. */
const meet = routine(async (own: string, others: string[], folder: string) => {
  writeFileSync(join(folder, own), "");
  while (!others.every((other) => existsSync(join(folder, other)))) await new Promise(setImmediate);
  return others.length;
});

describe("load balancing", () => {
  test("round robin takes turns", async () => {
    await using own = await poolOf(2, { loadBalancer: new RoundRobinLoadBalancer() });
    const seen: number[] = [];
    for (let i = 0; i < 6; i++) seen.push(await own.dispatch(pid));
    expect(new Set(seen.slice(0, 2)).size).toBe(2);
    expect(seen.slice(2)).toEqual(seen.slice(0, 4));
  });

  test("a balancer of one's own decides by what it is told, and hears what became of it", async () => {
    const asked = new Map<number, TaskInfo>();
    const outcomes: string[] = [];
    const balancer: LoadBalancerLike = {
      delegate(task, context) {
        asked.set(task.sequence, task);
        const uids = [...context.workers.keys()];
        return task.key === "last" ? uids.reverse() : uids;
      },
      settled: (uid, outcome) => outcomes.push(`${uid} ${outcome.status}`),
    };
    await using own = await poolOf(2, { loadBalancer: () => balancer });
    const [first, last] = [...own.workers.values()];
    const named = pid.with({ name: "where" });
    expect(await own.dispatch(named)).toBe(first?.pid);
    expect(await own.dispatch(named.with({ key: "last" }))).toBe(last?.pid);
    expect([...asked.values()].map(({ name, key }) => [name, key])).toEqual([
      ["where", undefined],
      ["where", "last"],
    ]);
    expect(outcomes).toEqual([`${first?.uid} done`, `${last?.uid} done`]);
  });

  test("a balancer that fails fails the call, and not the pool", async () => {
    let broken = true;
    const balancer: LoadBalancerLike = {
      delegate(_task, context) {
        if (broken) throw new RangeError("cannot decide");
        return context.workers.keys();
      },
    };
    await using own = await poolOf(1, { loadBalancer: balancer });
    await expect(own.dispatch(pid)).rejects.toThrow("cannot decide");
    broken = false;
    expect(await own.dispatch(pid)).toBe([...own.workers.values()][0]?.pid);
  });
});

describe("capacity", () => {
  test("no more tasks run at once than maxConcurrency allows, and all are run", async () => {
    const crowd = routine(async () => {
      const counter = globalThis as { woolTestRunning?: number };
      const running = (counter.woolTestRunning ?? 0) + 1;
      counter.woolTestRunning = running;
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      counter.woolTestRunning = (counter.woolTestRunning ?? 0) - 1;
      return running;
    });
    await using own = await WorkerPool.start({ size: 1, workerOptions: { maxConcurrency: 3 } });
    const seen = await Promise.all(Array.from({ length: 30 }, () => own.dispatch(crowd)));
    expect(Math.max(...seen)).toBe(3);
    expect(seen).toHaveLength(30);
  });

  test.each([
    [2, 1],
    [2, 3],
    [3, 2],
  ])("%i threads share the %i tasks that may run at once", async (threads, maxConcurrency) => {
    await using own = await WorkerPool.start({ size: 1, workerOptions: { threads, maxConcurrency } });
    const folder = await mkdtemp(join(tmpdir(), "wool-share-"));
    try {
      const first = Array.from({ length: maxConcurrency }, (_, i) => `first-${i}`);
      const met = await Promise.all(first.map((name) => own.dispatch(meet, name, first, folder)));
      expect(met).toEqual(first.map(() => maxConcurrency));
      const count = routine(async (own: string, folder: string) => {
        const { mkdirSync, readdirSync, rmSync, writeFileSync } = await import("node:fs");
        mkdirSync(`${folder}/running`, { recursive: true });
        writeFileSync(`${folder}/running/${own}`, "");
        let most = 0;
        for (let i = 0; i < 50; i++) {
          await new Promise(setImmediate);
          most = Math.max(most, readdirSync(`${folder}/running`).length);
        }
        rmSync(`${folder}/running/${own}`);
        return most;
      });
      const many = Array.from({ length: 4 * maxConcurrency }, (_, i) => own.dispatch(count, `task-${i}`, folder));
      expect(Math.max(...(await Promise.all(many)))).toBeLessThanOrEqual(maxConcurrency);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("what the tasks of a thread that ended held is free again", async () => {
    await using own = await WorkerPool.start({ size: 1, workerOptions: { threads: 2, maxConcurrency: 2 } });
    const exit = routine(async () => process.exit(1));
    for (let i = 0; i < 3; i++) await expect(own.dispatch(exit)).rejects.toThrow(WorkerLost);
    const folder = await mkdtemp(join(tmpdir(), "wool-share-"));
    try {
      const names = ["a", "b"];
      expect(await Promise.all(names.map((name) => own.dispatch(meet, name, names, folder)))).toEqual([2, 2]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  describe("a task that waits in one thread for what another holds", () => {
    /** Waits for a file `go`, then does what it is told. */
    const hold = routine(async (name: string, folder: string, then: "return" | "exit" | "block") => {
      writeFileSync(join(folder, name), "");
      while (!existsSync(join(folder, `${name}-go`))) await new Promise(setImmediate);
      if (then === "exit") process.exit(1);
      writeFileSync(join(folder, `${name}-then`), "");
      if (then === "block") while (!existsSync(join(folder, "end")));
      return name;
    });
    const nothing = routine(async () => "run");

    test.each([
      ["runs when that thread ends", "exit", "return"],
      ["does not keep others waiting if its own is blocked", "return", "block"],
    ] as const)("%s", async (_what, first, second) => {
      const folder = await mkdtemp(join(tmpdir(), "wool-hold-"));
      try {
        await using own = await WorkerPool.start({ size: 1, workerOptions: { threads: 2, maxConcurrency: 2 } });
        const a = reasonOf(own.dispatch(hold, "a", folder, first));
        await until(() => existsSync(join(folder, "a")), "one thread has a task");
        const b = own.dispatch(hold, "b", folder, second);
        await until(() => existsSync(join(folder, "b")), "the other one has a task");
        const waiting = [reasonOf(own.dispatch(nothing)), reasonOf(own.dispatch(nothing))];
        await until(() => own.stats().inFlight === 4, "in each thread a task waits");
        if (second === "block") {
          writeFileSync(join(folder, "b-go"), "");
          await until(() => existsSync(join(folder, "b-then")), "the other thread is blocked");
        }
        writeFileSync(join(folder, "a-go"), "");
        await a;
        // That of the thread that has ended is lost with it; the other one has its place.
        expect(await Promise.race(waiting.map(async (outcome) => hasRun(await outcome)).map(unless))).toBe(true);
        for (const file of ["b-go", "end"]) writeFileSync(join(folder, file), "");
        expect(await b).toBe("b");
        await Promise.all(waiting);
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    const hasRun = (outcome: unknown): boolean => Array.isArray(outcome);
    /** Leaves the decision to another if it is false. */
    const unless = async (decision: Promise<boolean>): Promise<boolean> =>
      (await decision) || (await new Promise<never>(() => undefined));
  });

  test("two threads run two tasks that block", async () => {
    const block = routine(async (folder: string, own: string, other: string) => {
      writeFileSync(join(folder, own), "");
      while (!existsSync(join(folder, other)));
      return own;
    });
    const folder = await mkdtemp(join(tmpdir(), "wool-threads-"));
    try {
      await using own = await WorkerPool.start({ size: 1, workerOptions: { threads: 2 } });
      // On one thread the first would wait for the second for ever.
      const met = await Promise.all([own.dispatch(block, folder, "a", "b"), own.dispatch(block, folder, "b", "a")]);
      expect(met).toEqual(["a", "b"]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
