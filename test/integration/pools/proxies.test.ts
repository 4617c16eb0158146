import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type DiscoveryEvent,
  type DiscoveryLike,
  InvalidArgument,
  LeastLoadedLoadBalancer,
  LocalDiscovery,
  NoWorkersAvailable,
  PoolClosed,
  RoundRobinLoadBalancer,
  routine,
  StaticDiscovery,
  TransientRpcError,
  WorkerConnection,
  type WorkerMetadata,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { isRunning } from "../../support/processes.ts";
import { runProgram } from "../../support/run-program.ts";
import { until } from "../../support/until.ts";
import { watch } from "../../support/watch.ts";
import { openDoor, waitAtDoor } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await WorkerPool.start({ size: 2 });
});
afterAll(async () => {
  await pool.stop();
});

const pid = routine(async () => process.pid);
const nestedPid = routine(async () => await pid());
const letters = routine(async function* () {
  yield "a";
  yield "b";
});
const nested = routine(async () => [process.pid, await pid()]);
const waitAt = routine(async (key: string) => await waitAtDoor(key));
const open = routine(async (key: string) => openDoor(key));

function workers(): WorkerMetadata[] {
  return [...pool.workers.values()];
}

function firstWorker(): WorkerMetadata {
  const [first] = workers();
  if (first === undefined) throw new Error("the pool has no workers");
  return first;
}

describe("a WorkerProxy", () => {
  const sources = {
    "a pool's uri": () => ({ poolUri: pool.uri }),
    "a list of workers": () => ({ workers: workers() }),
    "a list of addresses": () => ({ workers: workers().map(({ address }) => address) }),
    "a discovery": () => ({ discovery: new StaticDiscovery(workers()) }),
    "a function that makes a discovery": () => ({ discovery: async () => new StaticDiscovery(workers()) }),
  };

  for (const [name, options] of Object.entries(sources)) {
    test(`from ${name} reaches the workers and leaves them running`, async () => {
      const pids = new Set(workers().map((worker) => worker.pid));
      // The default balancer need not wake a second worker for calls that take next to no time.
      const proxy = new WorkerProxy({ ...options(), quorum: 2, loadBalancer: new RoundRobinLoadBalancer() });
      const seen = await Promise.all(Array.from({ length: 20 }, () => proxy.dispatch(pid)));
      expect(new Set(seen)).toEqual(pids);
      expect(proxy.workers.size).toBe(2);
      expect(pids).toContain(await proxy.run(() => pid()));
      const seenLetters: string[] = [];
      for await (const letter of proxy.dispatch(letters)) seenLetters.push(letter);
      expect(seenLetters).toEqual(["a", "b"]);
      const [outer, inner] = await proxy.dispatch(nested);
      expect(pids).toContain(outer);
      expect(pids).toContain(inner);
      await proxy.stop();
      await expect(proxy.dispatch(pid)).rejects.toBeInstanceOf(PoolClosed);
      expect([...pids].every(isRunning)).toBe(true);
      expect(pids).toContain(await pool.dispatch(pid));
    });
  }

  test("from a pool's uri does not keep the pool from stopping", async () => {
    const owner = await WorkerPool.start({ size: 1 });
    await using proxy = new WorkerProxy({ poolUri: owner.uri });
    const [worker] = owner.workers.values();
    expect(await proxy.dispatch(pid)).toBe(worker?.pid);
    const directory = dirname(worker?.address.slice("unix:".length) ?? "");
    expect(existsSync(directory)).toBe(true);
    await owner.stop();
    expect(existsSync(directory)).toBe(false);
    await until(() => proxy.workers.size === 0, "the proxy has noticed that the workers are gone");
    expect(existsSync(directory)).toBe(false);
  });

  test("from a namespace finds workers that another pool announces there", async () => {
    const namespace = `test-${randomUUID()}`;
    await using owner = await WorkerPool.start({ size: 1, discovery: new LocalDiscovery(namespace) });
    const [worker] = owner.workers.values();
    await using proxy = new WorkerProxy({ namespace });
    expect(await proxy.dispatch(pid)).toBe(worker?.pid);
    await using user = await WorkerPool.start({ discovery: new LocalDiscovery(namespace) });
    expect(await user.dispatch(pid)).toBe(worker?.pid);
  });

  test("of a pool with tags is made of the workers that have one of them", async () => {
    const namespace = `test-${randomUUID()}`;
    await using large = await WorkerPool.start({ size: 1, tags: ["large"], discovery: new LocalDiscovery(namespace) });
    await using small = await WorkerPool.start({ size: 1, tags: ["small"], discovery: new LocalDiscovery(namespace) });
    expect(large.workers.size).toBe(1);
    expect(small.workers.size).toBe(1);
    await using user = await WorkerPool.start({ tags: ["small", "other"], discovery: new LocalDiscovery(namespace) });
    expect([...user.workers.keys()]).toEqual([...small.workers.keys()]);
    expect(await user.dispatch(pid)).toBe([...small.workers.values()][0]?.pid);
    await using both = await WorkerPool.start({ discovery: new LocalDiscovery(namespace), quorum: 2 });
    expect(both.workers.size).toBe(2);
  });

  test("from a pool's uri uses the workers with its tags, and no others of its discovery", async () => {
    const url = `local:test-${randomUUID()}`;
    await using both = await WorkerPool.start({ discovery: url, size: 1, tags: ["large & fast", "b"], quorum: 1 });
    await using small = await WorkerPool.start({ discovery: url, size: 1, tags: ["small"] });
    const [own] = both.workers.keys();
    expect(both.uri).toBe(`${url}?tag=large%20%26%20fast&tag=b`);
    await using all = new WorkerProxy({ poolUri: url, quorum: 2 });
    await all.start();
    await using tagged = new WorkerProxy({ poolUri: both.uri });
    expect(await tagged.dispatch(pid)).toBe(both.workers.get(own ?? "")?.pid);
    expect([...tagged.workers.keys()]).toEqual([own]);
    await using durable = await WorkerPool.start({ discovery: `${url}?tag=small` });
    expect([...durable.workers.keys()]).toEqual([...small.workers.keys()].filter((uid) => uid !== own));
    expect(new Set(await Promise.all(Array.from({ length: 10 }, () => durable.dispatch(nestedPid))))).toEqual(
      new Set([...durable.workers.values()].map((worker) => worker.pid)),
    );
  });

  test("in another process reaches the pool by its uri", async () => {
    const { code, stdout, stderr } = await runProgram("use-pool.mjs", { args: [pool.uri] });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { own, pids, seen } = JSON.parse(stdout) as { own: number; pids: number[]; seen: string[] };
    expect(seen).toEqual(["a", "b"]);
    for (const where of pids) expect(workers().map((worker) => worker.pid)).toContain(where);
    expect(pids).not.toContain(own);
  });

  test("follows what its discovery tells", async () => {
    const [first, second] = workers() as [WorkerMetadata, WorkerMetadata];
    const discovery = new ManualDiscovery();
    await using proxy = new WorkerProxy({ discovery });
    const early = proxy.dispatch(pid);
    discovery.tell({ type: "worker-added", worker: first });
    expect(await early).toBe(first.pid);
    discovery.tell({ type: "worker-added", worker: second });
    discovery.tell({ type: "worker-dropped", worker: first });
    await until(() => proxy.workers.size === 1 && proxy.workers.has(second.uid), "the second took the first's place");
    expect(await proxy.dispatch(pid)).toBe(second.pid);
    discovery.end();
  });

  test("can be stopped although its discovery does not let go of the subscription", async () => {
    const discovery = new ManualDiscovery();
    discovery.tell({ type: "worker-added", worker: firstWorker() });
    const proxy = new WorkerProxy({ discovery });
    expect(await proxy.dispatch(pid)).toBe(firstWorker().pid);
    await proxy.stop();
    await expect(proxy.dispatch(pid)).rejects.toBeInstanceOf(PoolClosed);
  });

  test("uses only the workers that its filter lets through", async () => {
    const chosen = firstWorker();
    await using proxy = new WorkerProxy({ poolUri: pool.uri, filter: ({ uid }) => uid === chosen.uid });
    const seen = await Promise.all(Array.from({ length: 10 }, () => proxy.dispatch(pid)));
    expect(new Set(seen)).toEqual(new Set([chosen.pid]));
    expect([...proxy.workers.keys()]).toEqual([chosen.uid]);
  });

  test("lease: uses no more workers than that", async () => {
    await using proxy = new WorkerProxy({ poolUri: pool.uri, lease: 1 });
    const seen = await Promise.all(Array.from({ length: 10 }, () => proxy.dispatch(pid)));
    expect(new Set(seen).size).toBe(1);
    expect(proxy.workers.size).toBe(1);
  });

  test("quorum: calls wait for that many workers", async () => {
    const [first, second] = workers() as [WorkerMetadata, WorkerMetadata];
    const discovery = new ManualDiscovery();
    await using proxy = new WorkerProxy({ discovery, quorum: 2 });
    const early = watch(proxy.dispatch(pid));
    discovery.tell({ type: "worker-added", worker: first });
    await until(() => proxy.workers.has(first.uid), "the first is known");
    // A call that waits for nobody overtakes it.
    await pool.broadcast(pid);
    expect(early.settled).toBe(false);
    discovery.tell({ type: "worker-added", worker: second });
    expect([first.pid, second.pid]).toContain(await early.promise);
    discovery.end();
  });

  test("is what routines use inside of its run()", async () => {
    await using proxy = new WorkerProxy({ workers: [firstWorker()] });
    expect(await pid.with({ pool: proxy })()).toBe(firstWorker().pid);
    expect(await proxy.run(() => pid())).toBe(firstWorker().pid);
  });

  test("passes over a worker that cannot be reached", async () => {
    await using proxy = new WorkerProxy({ workers: ["unix:/nonexistent/worker.sock", firstWorker()] });
    expect(await Promise.all([proxy.dispatch(pid), proxy.dispatch(pid)])).toEqual([
      firstWorker().pid,
      firstWorker().pid,
    ]);
  });

  test("tells what each worker said when none can be reached", async () => {
    const missing = ["unix:/nonexistent/a.sock", "unix:/nonexistent/b.sock"];
    await using proxy = new WorkerProxy({ workers: missing });
    const error = await proxy.dispatch(pid).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    const { errors, message } = error as NoWorkersAvailable;
    expect(errors).toHaveLength(2);
    for (const address of missing) expect(message).toContain(address);
  });

  test.each([
    ["that levels", () => new LeastLoadedLoadBalancer()],
    ["of another kind", () => new RoundRobinLoadBalancer()],
  ])(
    "learns that a worker cannot be reached also when another one tries at the same time, with a balancer %s",
    async (_kind, loadBalancer) => {
      // Refused, and not before the others have made their calls, too.
      const address = "127.0.0.1:1";
      const proxies = Array.from({ length: 3 }, () => new WorkerProxy({ workers: [address], loadBalancer }));
      await Promise.all(proxies.map((proxy) => proxy.start()));
      await using connection = new WorkerConnection(address);
      const asked = connection.idleTime().catch((reason: unknown) => reason);
      const errors = await Promise.all(
        [...proxies, connection].map((each) => each.dispatch(pid).catch((reason: unknown) => reason)),
      );
      for (const error of errors) expect(error).toBeInstanceOf(NoWorkersAvailable);
      expect(await asked).toBeInstanceOf(TransientRpcError);
      for (const proxy of proxies) await proxy.stop();
    },
  );

  test("says so when its discovery finds nobody in time", async () => {
    await using proxy = new WorkerProxy({ namespace: `test-${randomUUID()}`, quorumTimeout: 50 });
    await expect(proxy.dispatch(pid)).rejects.toThrow(NoWorkersAvailable);
  });

  test("takes exactly one source", () => {
    expect(() => new WorkerProxy({})).toThrow(InvalidArgument);
    expect(() => new WorkerProxy({ namespace: "a", workers: [] })).toThrow(/exactly one.*namespace and workers/);
    expect(() => new WorkerProxy({ poolUri: "http://somewhere" })).toThrow(/there is no discovery "http:"/);
    expect(() => new WorkerProxy({ workers: "a" as unknown as string[] })).toThrow(/workers/);
    expect(() => new WorkerProxy({ workers: [] })).toThrow(/quorum of 1 cannot be reached with a list of 0 workers/);
    expect(() => new WorkerProxy({ namespace: "a", lease: 1, quorum: 2 })).toThrow(
      /WorkerProxy: a quorum of 2 cannot be reached with a lease of 1/,
    );
  });
});

describe("a WorkerConnection", () => {
  test("calls functions and generators on its worker and on no other", async () => {
    for (const worker of workers()) {
      await using connection = new WorkerConnection(worker);
      const seen = await Promise.all(Array.from({ length: 5 }, () => connection.dispatch(pid)));
      expect(new Set(seen)).toEqual(new Set([worker.pid]));
      const seenLetters: string[] = [];
      for await (const letter of connection.dispatch(letters)) seenLetters.push(letter);
      expect(seenLetters).toEqual(["a", "b"]);
    }
  });

  test("takes an address", async () => {
    await using connection = new WorkerConnection(firstWorker().address);
    expect(await connection.dispatch(pid)).toBe(firstWorker().pid);
  });

  test("tells how long its worker has been idle: 0 while a task runs, then more and more", async () => {
    await using connection = new WorkerConnection(firstWorker());
    const running = connection.dispatch(waitAt, "idle");
    await until(async () => (await connection.idleTime()) === 0, "the task runs");
    await connection.dispatch(open, "idle");
    await running;
    await until(async () => (await connection.idleTime()) > 0, "the worker is idle");
    const before = await connection.idleTime();
    await until(async () => (await connection.idleTime()) > before, "it is idle for longer");
  });

  test("leaves its worker running when it is disposed of, and is closed then", async () => {
    const connection = new WorkerConnection(firstWorker());
    await connection.dispatch(pid);
    await connection[Symbol.asyncDispose]();
    await expect(connection.dispatch(pid)).rejects.toBeInstanceOf(PoolClosed);
    expect(isRunning(firstWorker().pid)).toBe(true);
    expect(await pool.dispatch(pid)).toBeGreaterThan(0);
  });

  test("stops its worker, and the pool goes on without it", async () => {
    await using own = await WorkerPool.start({ size: 2 });
    const [victim, other] = [...own.workers.values()] as [WorkerMetadata, WorkerMetadata];
    await using connection = new WorkerConnection(victim);
    await connection.stop();
    await until(() => !isRunning(victim.pid), "the worker has ended");
    await until(() => own.workers.size === 1, "the pool knows");
    expect(await own.dispatch(pid)).toBe(other.pid);
  });

  test.each([undefined, 5, "nowhere", { uid: "x" }])("to %j is refused", (worker) => {
    expect(() => new WorkerConnection(worker as string)).toThrow(InvalidArgument);
  });
});

/** A discovery that tells what the test says. Like any async generator it ends only when it next gets a turn. */
class ManualDiscovery implements DiscoveryLike {
  readonly #events: DiscoveryEvent[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  tell(event: DiscoveryEvent): void {
    this.#events.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *subscribe(): AsyncGenerator<DiscoveryEvent> {
    while (!this.#ended) {
      for (const event of this.#events.splice(0)) yield event;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
