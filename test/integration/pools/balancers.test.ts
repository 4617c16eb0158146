import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ConsistentHashLoadBalancer,
  type DispatchableTask,
  type DispatchingLoadBalancerLike,
  type DispatchOutcome,
  type Factory,
  InvalidArgument,
  LeastLoadedLoadBalancer,
  type LoadBalancerContextView,
  type LoadBalancerLike,
  LocalDiscovery,
  NoWorkersAvailable,
  PowerOfTwoLoadBalancer,
  RoundRobinLoadBalancer,
  RpcError,
  routine,
  TaskTimeout,
  WorkerLost,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { killProcess } from "../../support/processes.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { runProgram } from "../../support/run-program.ts";
import { until } from "../../support/until.ts";

const pid = routine(async () => process.pid);
const add = routine(async (x: number, y: number) => x + y);
const fail = routine(async () => {
  throw new RangeError("as wanted");
});
const never = routine(async () => await new Promise<never>(() => undefined));
const count = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield i;
  return "counted";
});

const keys = Array.from({ length: 24 }, (_, i) => `user-${i}`);

/** Which process runs the tasks of each key. */
async function owners(pool: WorkerPool | WorkerProxy): Promise<Map<string, number>> {
  const pids = await Promise.all(keys.map((key) => pool.dispatch(pid.with({ key }))));
  return new Map(keys.map((key, i) => [key, pids[i] ?? 0]));
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "wool-balancers-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe("every balancer", () => {
  const balancers: [string, () => LoadBalancerLike][] = [
    ["RoundRobinLoadBalancer", () => new RoundRobinLoadBalancer()],
    ["LeastLoadedLoadBalancer", () => new LeastLoadedLoadBalancer()],
    ["PowerOfTwoLoadBalancer", () => new PowerOfTwoLoadBalancer()],
    ["ConsistentHashLoadBalancer", () => new ConsistentHashLoadBalancer()],
  ];

  test.each(balancers)("%s: many calls at once, with and without keys, and streams", async (_name, make) => {
    await using pool = await poolOf(2, { loadBalancer: make() });
    const calls = Array.from({ length: 2000 }, (_, i) =>
      pool.dispatch(i % 3 === 0 ? add.with({ key: `key ${i % 7}` }) : add, i, 1),
    );
    expect(await Promise.all(calls)).toEqual(calls.map((_, i) => i + 1));
    const seen: number[] = [];
    for await (const value of pool.dispatch(count.with({ key: "k" }), 3)) seen.push(value);
    expect(seen).toEqual([0, 1, 2]);
    const { inFlight, queued, done } = pool.stats();
    expect([inFlight, queued, done]).toEqual([0, 0, 2001]);
  });
});

describe("consistent hashing", () => {
  test("keeps a key at one worker, also when calls come faster than it takes them", async () => {
    await using pool = await poolOf(3, { loadBalancer: new ConsistentHashLoadBalancer() });
    const before = await owners(pool);
    expect(new Set(before.values()).size).toBeGreaterThan(1);
    const burst = await Promise.all(Array.from({ length: 300 }, () => pool.dispatch(pid.with({ key: "user-3" }))));
    expect(new Set(burst)).toEqual(new Set([before.get("user-3")]));
    expect(await owners(pool)).toEqual(before);
  });

  test("moves the keys of a worker that dies, and no others", async () => {
    await using pool = await WorkerPool.start({ size: 3, loadBalancer: new ConsistentHashLoadBalancer() });
    const before = await owners(pool);
    const victim = before.get("user-0");
    killProcess(victim);
    await until(() => pool.workers.size === 2, "the pool has noticed");
    const after = await owners(pool);
    for (const [key, owner] of after) {
      if (before.get(key) === victim) expect(owner).not.toBe(victim);
      else expect(owner).toBe(before.get(key));
    }
  });

  test("gives a worker that joins its share, and takes nothing else from anyone", async () => {
    const discovery = new LocalDiscovery(`balancers-${randomUUID()}`);
    await using _first = await WorkerPool.start({ size: 2, discovery: () => new LocalDiscovery(discovery.namespace) });
    await using proxy = new WorkerProxy({
      namespace: discovery.namespace,
      quorum: 2,
      loadBalancer: new ConsistentHashLoadBalancer(),
    });
    const before = await owners(proxy);
    await using joined = await WorkerPool.start({ size: 1, discovery: () => new LocalDiscovery(discovery.namespace) });
    await until(() => proxy.workers.size === 3, "the proxy has found the third worker");
    const newcomers = new Set(before.values());
    const after = await owners(proxy);
    const moved = keys.filter((key) => after.get(key) !== before.get(key));
    for (const key of moved) expect(newcomers.has(after.get(key) ?? 0)).toBe(false);
    expect(moved.length).toBeLessThan(keys.length);
    await joined.stop();
    await until(() => proxy.workers.size === 2, "the proxy has noticed that it left");
    expect(await owners(proxy)).toEqual(before);
  });
});

describe("one balancer for many pools", () => {
  test("keeps the turns of each apart", async () => {
    const loadBalancer = new RoundRobinLoadBalancer();
    await using one = await WorkerPool.start({ size: 2, loadBalancer });
    await using two = await WorkerPool.start({ size: 2, loadBalancer });
    const seen: number[][] = [[], []];
    for (let i = 0; i < 4; i++) {
      seen[0]?.push(await one.dispatch(pid));
      seen[1]?.push(await two.dispatch(pid));
      seen[1]?.push(await two.dispatch(pid));
    }
    for (const [i, pool] of [one, two].entries()) {
      const own = [...pool.workers.values()].map((worker) => worker.pid);
      expect(seen[i]?.map((where, turn) => where === own[turn % 2])).not.toContain(false);
    }
  });

  test("serves a pool inside of another's scope, and the outer one after it", async () => {
    const contexts = new Set<LoadBalancerContextView>();
    const heard = new Map<LoadBalancerContextView, string[]>();
    const loadBalancer: LoadBalancerLike = {
      delegate: (_task, context) => {
        contexts.add(context);
        return context.workers.keys();
      },
      settled: (uid, { status }, context) =>
        void heard.set(context, [...(heard.get(context) ?? []), `${uid} ${status}`]),
    };
    await using outer = await WorkerPool.start({ size: 1, loadBalancer });
    await outer.run(async () => {
      expect(await pid()).toBe([...outer.workers.values()][0]?.pid);
      await using inner = await WorkerPool.start({ size: 1, loadBalancer });
      await inner.run(async () => expect(await pid()).toBe([...inner.workers.values()][0]?.pid));
      expect(await pid()).toBe([...outer.workers.values()][0]?.pid);
      const [innerUid] = inner.workers.keys();
      const [outerUid] = outer.workers.keys();
      expect([...heard.values()]).toEqual([[`${outerUid} done`, `${outerUid} done`], [`${innerUid} done`]]);
    });
    expect(contexts.size).toBe(2);
  });
});

describe("feedback", () => {
  test("tells what became of each task, once", async () => {
    const heard: string[] = [];
    const loadBalancer: LoadBalancerLike = {
      delegate: (_task, { workers }) => workers.keys(),
      settled: (_uid, { status }) => void heard.push(status),
    };
    await using pool = await WorkerPool.start({ size: 1, loadBalancer });
    await pool.dispatch(add, 1, 2);
    await reasonOf(pool.dispatch(fail));
    await reasonOf(pool.dispatch(never.with({ timeout: 1000 })));
    await until(() => pool.stats().inFlight === 0, "the worker has given it up");
    const abort = new AbortController();
    const aborted = reasonOf(pool.dispatch(never.with({ signal: abort.signal })));
    await until(() => pool.stats().inFlight === 1, "the task is at the worker");
    abort.abort();
    await aborted;
    for await (const value of pool.dispatch(count, 2)) expect(value).toBeLessThan(2);
    const lost = reasonOf(pool.dispatch(never));
    await until(() => pool.stats().inFlight === 1, "the task is at the worker");
    killProcess([...pool.workers.values()][0]?.pid);
    expect(await lost).toBeInstanceOf(WorkerLost);
    expect(heard).toEqual(["done", "failed", "cancelled", "cancelled", "done", "lost"]);
  });

  test("comes for calls that were made before the balancer was there", async () => {
    await using pool = await WorkerPool.start({ size: 1 });
    const heard: string[] = [];
    const balancer: LoadBalancerLike = {
      delegate: (_task, { workers }) => workers.keys(),
      settled: (_uid, { status }) => void heard.push(status),
    };
    await using proxy = new WorkerProxy({ poolUri: pool.uri, loadBalancer: async () => balancer });
    expect(await proxy.dispatch(add, 1, 2)).toBe(3);
    expect(heard).toEqual(["done"]);
  });
});

describe("a balancer that does not do its part", () => {
  const broken: [string, LoadBalancerLike["delegate"], new (...args: never[]) => Error, RegExp][] = [
    ["offers nobody", () => [], NoWorkersAvailable, /offered none/],
    ["offers strangers", () => ["ghost"], NoWorkersAvailable, /not in the pool: "ghost"/],
    [
      "offers them for ever",
      function* () {
        for (;;) yield "ghost";
      },
      NoWorkersAvailable,
      /not in the pool/,
    ],
    ["returns no iterable", () => 5 as never, InvalidArgument, /returned 5/],
    [
      "throws",
      () => {
        throw new RangeError("cannot decide");
      },
      RangeError,
      /cannot decide/,
    ],
    [
      "rejects",
      async function* () {
        yield "ghost";
        throw new RangeError("cannot decide");
      },
      RangeError,
      /cannot decide/,
    ],
  ];

  test.each(broken)(
    "because it %s fails the calls it is asked about, and no others",
    async (_what, delegate, kind, text) => {
      const loadBalancer: LoadBalancerLike = {
        delegate: (task, context) => (task.key === "bad" ? delegate(task, context) : context.workers.keys()),
      };
      await using pool = await poolOf(1, { loadBalancer });
      const [before, bad, after] = await Promise.all([
        pool.dispatch(add, 1, 2),
        reasonOf(pool.dispatch(add.with({ key: "bad" }), 1, 2)),
        pool.dispatch(add, 3, 4),
      ]);
      expect([before, after]).toEqual([3, 7]);
      expect(bad).toBeInstanceOf(kind);
      expect(String(bad)).toMatch(text);
      const stream = pool.dispatch(count.with({ key: "bad" }), 2);
      expect(String(await reasonOf(stream.next()))).toMatch(text);
      expect(pool.stats()).toMatchObject({ queued: 0, inFlight: 0 });
    },
  );

  test("because it never decides is bounded by dispatchTimeout, and holds up nobody", async () => {
    const loadBalancer: LoadBalancerLike = {
      async *delegate(task, context) {
        if (task.key === "bad") await new Promise<never>(() => undefined);
        yield* context.workers.keys();
      },
    };
    await using pool = await poolOf(1, { loadBalancer });
    const bad = reasonOf(pool.dispatch(add.with({ key: "bad", dispatchTimeout: 100 }), 1, 2));
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
    expect(await bad).toBeInstanceOf(TaskTimeout);
    const left = reasonOf(pool.dispatch(add.with({ key: "bad" }), 1, 2));
    await until(() => pool.stats().queued === 1, "the balancer thinks");
    await pool.stop();
    expect(String(await left)).toMatch(/PoolClosed|NoWorkersAvailable/);
  });
});

/** Sends each task to the worker with the fewest, or to the next when that refuses, and notes what it did. */
class Noting implements DispatchingLoadBalancerLike {
  readonly tasks: DispatchableTask[] = [];
  readonly timeouts: (number | undefined)[] = [];
  readonly outcomes: Promise<DispatchOutcome>[] = [];

  async dispatch(task: DispatchableTask, options: Parameters<DispatchingLoadBalancerLike["dispatch"]>[1]) {
    const { context, timeout } = options;
    this.tasks.push(task);
    this.timeouts.push(timeout);
    const refusals: RpcError[] = [];
    for (const uid of [...context.workers.keys()].sort((a, b) => context.load(a) - context.load(b))) {
      try {
        const results = await task.sendTo(uid);
        expect(results.uid).toBe(uid);
        this.outcomes.push(results.ended);
        return results;
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        refusals.push(error);
      }
    }
    throw new NoWorkersAvailable("nobody took it", refusals);
  }
}

describe("a balancer that dispatches itself", () => {
  test("carries calls and streams, and hears how they end", async () => {
    const balancer = new Noting();
    await using pool = await poolOf(2, { loadBalancer: balancer });
    const calls = Array.from({ length: 500 }, (_, i) => pool.dispatch(add, i, 1));
    expect(await Promise.all(calls)).toEqual(calls.map((_, i) => i + 1));
    expect(new Set((await Promise.all(balancer.outcomes)).map(({ status }) => status))).toEqual(new Set(["done"]));
    const workers = Object.values(pool.stats().workers);
    for (const { done } of workers) expect(done).toBeGreaterThan(100);

    balancer.outcomes.length = 0;
    const stream = pool.dispatch(count.with({ dispatchTimeout: 60_000 }), 2);
    expect([await stream.next(), await stream.next()]).toEqual([
      { done: false, value: 0 },
      { done: false, value: 1 },
    ]);
    expect(await stream.next()).toEqual({ done: true, value: "counted" });
    expect(String(await reasonOf(pool.dispatch(fail)))).toBe("RangeError: as wanted");
    await reasonOf(pool.dispatch(never.with({ timeout: 1000 })));
    expect((await Promise.all(balancer.outcomes)).map(({ status }) => status)).toEqual(["done", "failed", "cancelled"]);
    expect(balancer.timeouts.at(-3)).toBeGreaterThan(0);
    expect(balancer.timeouts.at(-2)).toBeUndefined();
  });

  test("cannot have a task run twice", async () => {
    const file = join(folder, "tokens");
    const write = routine(async (token: number) => appendFileSync(file, `${token}\n`));
    const refused: unknown[] = [];
    const loadBalancer: DispatchingLoadBalancerLike = {
      async dispatch(task, { context }) {
        const sent = [...context.workers.keys()].map((uid) => task.sendTo(uid));
        for (const { reason } of (await Promise.allSettled(sent.slice(1))) as PromiseRejectedResult[])
          refused.push(reason);
        const results = await (sent[0] as (typeof sent)[number]);
        refused.push(await reasonOf(task.sendTo(results.uid)));
        return results;
      },
    };
    await using pool = await poolOf(3, { loadBalancer });
    await Promise.all(Array.from({ length: 20 }, (_, i) => pool.dispatch(write, i)));
    const tokens = readFileSync(file, "utf8").trim().split("\n").map(Number);
    expect(tokens.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    await until(() => refused.length === 60, "the balancer has tried all it could");
    for (const reason of refused) expect(String(reason)).toMatch(/InvalidArgument.*at most one|TaskCancelled/);
  });

  test("is asked once more for an idempotent task whose worker dies, and not for others", async () => {
    const dieOnce = routine(async (file: string) => {
      const first = !existsSync(file);
      appendFileSync(file, "x");
      if (first) process.kill(process.pid, "SIGKILL");
      return process.pid;
    });
    const balancer = new Noting();
    await using pool = await WorkerPool.start({ size: 3, loadBalancer: balancer });
    const [idempotent, plain] = [join(folder, "idempotent"), join(folder, "plain")];
    const where = await pool.dispatch(dieOnce.with({ idempotent: true }), idempotent);
    expect([readFileSync(idempotent, "utf8"), typeof where]).toEqual(["xx", "number"]);
    expect(await reasonOf(pool.dispatch(dieOnce, plain))).toBeInstanceOf(WorkerLost);
    expect(readFileSync(plain, "utf8")).toBe("x");
  });

  test("that never dispatches is bounded by dispatchTimeout, the signal and the pool", async () => {
    const held: DispatchableTask[] = [];
    const loadBalancer: DispatchingLoadBalancerLike = {
      dispatch: (task) => {
        held.push(task);
        return new Promise(() => undefined);
      },
    };
    await using pool = await poolOf(1, { loadBalancer });
    expect(await reasonOf(pool.dispatch(add.with({ dispatchTimeout: 30 }), 1, 2))).toBeInstanceOf(TaskTimeout);
    const controller = new AbortController();
    const aborted = reasonOf(pool.dispatch(add.with({ signal: controller.signal }), 1, 2));
    const left = reasonOf(pool.dispatch(add, 1, 2));
    await until(() => held.length === 3, "the balancer has the tasks");
    controller.abort(new Error("enough"));
    expect(String(await aborted)).toBe("Error: enough");
    expect(pool.stats().queued).toBe(1);
    await pool.stop();
    expect(String(await left)).toMatch(/PoolClosed/);
    for (const task of held) expect(String(await reasonOf(task.sendTo("any")))).toMatch(/TaskCancelled/);
  });

  test("whose mistakes fail the call alone", async () => {
    const loadBalancer: DispatchingLoadBalancerLike = {
      async dispatch(task, { context }) {
        const [uid = "nobody"] = context.workers.keys();
        if (task.key === "throws") throw new RangeError("no idea");
        if (task.key === "ghost") return await task.sendTo("ghost");
        const results = await task.sendTo(uid);
        return task.key === "forgets" ? (undefined as never) : results;
      },
    };
    await using pool = await poolOf(1, { loadBalancer });
    const reasons = await Promise.all(
      ["throws", "ghost", "forgets", "none"].map((key) => reasonOf(pool.dispatch(never.with({ key, timeout: 500 })))),
    );
    expect(String(reasons[0])).toBe("RangeError: no idea");
    expect(String(reasons[1])).toMatch(/TransientRpcError: worker "ghost" is not in the pool/);
    expect(String(reasons[2])).toMatch(/InvalidArgument: dispatch\(\).*must return what task\.sendTo/);
    expect(reasons[3]).toBeInstanceOf(TaskTimeout);
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
  });

  test("serves a proxy as well", async () => {
    await using pool = await WorkerPool.start({ size: 1 });
    const balancer = new Noting();
    await using proxy = new WorkerProxy({ poolUri: pool.uri, loadBalancer: () => balancer });
    expect(await proxy.dispatch(add, 1, 2)).toBe(3);
    expect(balancer.tasks).toHaveLength(1);
  });
});

describe("the loadBalancer option", () => {
  const makes: [string, (balancer: Noting) => Factory<Noting>][] = [
    ["an instance", (balancer) => balancer],
    ["a promise", (balancer) => Promise.resolve(balancer)],
    ["a function", (balancer) => () => balancer],
    ["an asynchronous function", (balancer) => async () => balancer],
  ];

  test.each(makes)("takes %s", async (_what, make) => {
    const balancer = new Noting();
    await using pool = await poolOf(1, { loadBalancer: make(balancer) });
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
    expect(balancer.tasks).toHaveLength(1);
  });

  test("refuses a class and what is no balancer, and says what to give", async () => {
    const start = (loadBalancer: unknown): Promise<unknown> =>
      reasonOf(WorkerPool.start({ size: 1, loadBalancer: loadBalancer as LoadBalancerLike }));
    expect(String(await start(RoundRobinLoadBalancer))).toMatch(/RoundRobinLoadBalancer is a class: give an instance/);
    expect(String(await start({ delegates: 1 }))).toMatch(
      /loadBalancer must have a method delegate\(task, context\) or dispatch\(task, options\), and an object has neither/,
    );
  });

  test("disposes of a balancer that can be, once, when the pool stops", async () => {
    let disposed = 0;
    class Closing extends RoundRobinLoadBalancer implements AsyncDisposable {
      async [Symbol.asyncDispose](): Promise<void> {
        disposed++;
      }
    }
    const pool = await poolOf(1, { loadBalancer: new Closing() });
    expect([await pool.dispatch(add, 1, 2), disposed]).toEqual([3, 0]);
    await pool.stop();
    await pool.stop();
    expect(disposed).toBe(1);
  });
});

test("a program of a user's own, in plain JavaScript, brings balancers of both kinds", async () => {
  const { code, stdout, stderr } = await runProgram("balancers.mjs");
  expect([stderr, code]).toEqual(["", 0]);
  expect(JSON.parse(stdout)).toEqual({ sticky: 1, nobody: "WOOL_NO_WORKERS_AVAILABLE", spread: 2, largest: 1 });
});
