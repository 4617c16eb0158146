import { describe, expect, test } from "vitest";
import { events, NoWorkersAvailable, routine, type WorkerEvent, WorkerPool } from "wool-ts";
import { killProcess } from "../../support/processes.ts";
import { until } from "../../support/until.ts";

const pid = routine(async () => process.pid);

function collect(): { seen: WorkerEvent[]; [Symbol.dispose](): void } {
  const seen: WorkerEvent[] = [];
  const types = ["worker-added", "worker-dropped", "worker-updated", "worker-evicted"] as const;
  const subscriptions = types.map((type) => events.on(type, (event) => seen.push(event)));
  return {
    seen,
    [Symbol.dispose]: () => {
      for (const subscription of subscriptions) subscription[Symbol.dispose]();
    },
  };
}

describe("worker events", () => {
  test("tell of workers that come and go", async () => {
    using collected = collect();
    const { seen } = collected;
    const pool = await WorkerPool.start({ size: 2 });
    await until(() => seen.length === 2, "both workers are there");
    const [first, second] = seen.map(({ worker }) => worker);
    if (first === undefined || second === undefined) throw new Error("no workers");
    expect(seen.map(({ type }) => type)).toEqual(["worker-added", "worker-added"]);
    killProcess(first.pid);
    await until(() => seen.some(({ type }) => type === "worker-dropped"), "it is gone");
    expect(seen.at(-1)?.worker.uid).toBe(first.uid);
    expect(await pool.dispatch(pid)).toBe(second.pid);
    await pool.stop();
    await until(() => seen.filter(({ type }) => type === "worker-dropped").length === 2, "both are gone");
    expect(seen.some(({ type }) => type === "worker-evicted")).toBe(false);
  });

  test("tell why a worker was evicted, and that it was admitted again", async () => {
    using collected = collect();
    const { seen } = collected;
    let calls = 0;
    await using pool = await WorkerPool.start({
      size: 1,
      workerOptions: {
        backpressure: () => {
          calls += 1;
          if (!("asked" in globalThis)) {
            Object.assign(globalThis, { asked: calls });
            throw new Error("not yet");
          }
          return false;
        },
      },
    });
    const error = await pool.dispatch(pid).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    await until(() => seen.some(({ type }) => type === "worker-evicted"), "it is evicted");
    const evicted = seen.find(({ type }) => type === "worker-evicted");
    expect(evicted?.reason?.message).toContain("not yet");
    await until(() => seen.filter(({ type }) => type === "worker-added").length === 2, "it is admitted again");
    expect(await pool.dispatch(pid)).toBe(evicted?.worker.pid);
  });
});
