import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import {
  type ChannelOptions,
  currentTask,
  LocalDiscovery,
  PoolSaturated,
  routine,
  TaskTimeout,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { until } from "../../support/until.ts";

// Effects of options that no other test is about; test/project/option-effects.test.ts says where the rest are.

const wait = routine(async () => {
  const signal = currentTask()?.signal;
  if (signal !== undefined) await once(signal, "abort");
});

const one = routine(async () => 1);
const double = routine(async (x: number) => 2 * x);

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("with a worker that has no room", () => {
  test.each(["pool", "proxy"] as const)("maxPending bounds the calls of a %s that wait", async (kind) => {
    await using discovery = new LocalDiscovery(`max-pending-${kind}-${process.pid}`);
    await using _workers = await WorkerPool.start({ size: 1, discovery, workerOptions: { maxConcurrency: 1 } });
    await using caller =
      kind === "pool"
        ? await WorkerPool.start({ discovery, maxPending: 2 })
        : new WorkerProxy({ discovery, maxPending: 2 });
    const cancel = new AbortController();
    const endless = wait.with({ signal: cancel.signal });
    const calls: Promise<unknown>[] = [];
    // A worker is sent a few calls ahead of time; the others wait here.
    await until(() => {
      if (caller.stats().queued < 2) calls.push(caller.dispatch(endless).catch((error: unknown) => error));
      return caller.stats().queued === 2 && caller.stats().inFlight > 0;
    }, "as many calls wait as may");
    await expect(caller.dispatch(endless)).rejects.toThrow(PoolSaturated);
    cancel.abort(new RangeError("enough"));
    expect(new Set(await Promise.all(calls))).toEqual(new Set([new RangeError("enough")]));
  });

  test("maxPending 0 lets none wait but the one that a first connection takes", async () => {
    await using pool = await WorkerPool.start({ size: 1, maxPending: 0, workerOptions: { maxConcurrency: 1 } });
    await using proxy = new WorkerProxy({ workers: [...pool.workers.values()], maxPending: 0 });
    for (const caller of [pool, proxy]) {
      const first = caller.dispatch(one);
      await expect(caller.dispatch(one)).rejects.toThrow(PoolSaturated);
      expect(await first).toBe(1);
      expect(await caller.dispatch(one)).toBe(1);
    }
  });

  test("maxPending bounds calls that are made at once, and leaves out those of map, which bounds them itself", async () => {
    await using pool = await WorkerPool.start({ size: 1, maxPending: 3, workerOptions: { maxConcurrency: 1 } });
    const cancel = new AbortController();
    const mapped = pool.map(wait, Array(50).keys(), { signal: cancel.signal, concurrency: 20 })[Symbol.asyncIterator]();
    const ended = mapped.next().catch((error: unknown) => error);
    await until(() => pool.stats().queued > 10, "calls of the map wait");
    const calls = Array.from({ length: 100 }, () => pool.dispatch(wait.with({ signal: cancel.signal })));
    const outcomes = Promise.allSettled(calls);
    const saturated = calls.slice(10).map((call) => call.catch((error: unknown) => error));
    for (const error of await Promise.all(saturated)) expect(error).toBeInstanceOf(PoolSaturated);
    cancel.abort(new RangeError("enough"));
    // As many waited as may, although the calls of the map did, too.
    for (const outcome of (await outcomes).slice(0, 3)) {
      expect(outcome).toEqual({ status: "rejected", reason: new RangeError("enough") });
    }
    expect(await ended).toEqual(new RangeError("enough"));
    const doubled: number[] = [];
    for await (const value of pool.map(double, Array(50).keys(), { concurrency: 20 })) doubled.push(value);
    expect(doubled).toEqual(Array.from({ length: 50 }, (_, i) => 2 * i));
  });

  test("dispatchTimeout bounds the wait for it, and not the execution", async () => {
    await using pool = await WorkerPool.start({ size: 1, workerOptions: { maxConcurrency: 1 } });
    const cancel = new AbortController();
    const running = pool.dispatch(wait.with({ dispatchTimeout: 1500, signal: cancel.signal }));
    const ended = running.catch((error: unknown) => error);
    await until(() => pool.stats().inFlight === 1, "a task has been sent");
    const late = pool.dispatch(wait.with({ dispatchTimeout: 2000 })).catch((error: unknown) => error);
    expect(await late).toBeInstanceOf(TaskTimeout);
    expect(String(await late)).toContain("dispatchTimeout of 2000 ms");
    cancel.abort(new RangeError("enough"));
    expect(await ended).toEqual(new RangeError("enough"));
  });
});

test("port is where a worker listens", async () => {
  const port = await freePort();
  await using pool = await WorkerPool.start({ size: 1, workerOptions: { host: "127.0.0.1", port } });
  expect([...pool.workers.values()].map(({ address }) => address)).toEqual([`127.0.0.1:${port}`]);
});

test("channel is advertised to callers as it was given", async () => {
  const channel: ChannelOptions = {
    maxMessageBytes: 1_000_000,
    keepaliveInterval: 5000,
    keepaliveTimeout: 2000,
    compression: "none",
  };
  await using pool = await WorkerPool.start({ size: 1, workerOptions: { channel, maxConcurrency: 3 } });
  const advertised = { ...channel, maxConcurrency: 3, threads: 1 };
  expect([...pool.workers.values()].map((worker) => worker.channel)).toEqual([advertised]);
});
