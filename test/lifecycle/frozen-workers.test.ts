import { describe, expect, test } from "vitest";
import { routine, WorkerPool } from "wool-ts";
import { freeze } from "../support/processes.ts";
import { until } from "../support/until.ts";

const pid = routine(async () => process.pid);

/** How many of the calls have ended. */
function count(calls: readonly Promise<unknown>[]): { ended: number } {
  const counter = { ended: 0 };
  for (const call of calls) void call.finally(() => counter.ended++);
  return counter;
}

describe("a worker that freezes", () => {
  test("keeps the calls that it was handed, gets no more, and is used again when it thaws", async () => {
    await using pool = await WorkerPool.start({ size: 2 });
    await Promise.all(Array.from({ length: 20 }, () => pool.dispatch(pid)));
    const [worker] = pool.workers.values();
    if (worker === undefined) throw new Error("no worker");
    const { uid, pid: frozen } = worker;
    await freeze(frozen);
    const stuck: Promise<number>[] = [];
    try {
      // Some are handed to it before that is noticed; from then on all go to the other one.
      await until(() => {
        if (stuck.length < 40) stuck.push(pool.dispatch(pid));
        return pool.stats().workers[uid]?.responds === false;
      }, "it is noticed");
      const later = await Promise.all(Array.from({ length: 50 }, () => pool.dispatch(pid)));
      expect(later).not.toContain(frozen);
    } finally {
      process.kill(frozen, "SIGCONT");
    }
    expect(await Promise.all(stuck)).toHaveLength(stuck.length);
    await until(async () => (await pool.dispatch(pid)) === frozen, "the worker is used again");
    expect(pool.stats().workers[uid]?.responds).toBe(true);
  });

  test("and is the only one makes calls wait until it thaws", async () => {
    await using pool = await WorkerPool.start({ size: 1 });
    const [frozen] = [...pool.workers.values()].map((worker) => worker.pid);
    if (frozen === undefined) throw new Error("no worker");
    await pool.dispatch(pid);
    await freeze(frozen);
    const calls = Array.from({ length: 5 }, () => pool.dispatch(pid));
    const ended = count(calls);
    const refused = pool.dispatch(pid.with({ dispatchTimeout: 1500 })).catch((error: unknown) => error);
    expect(await refused).toMatchObject({ code: "WOOL_TASK_TIMEOUT" });
    expect(ended.ended).toBe(0);
    process.kill(frozen, "SIGCONT");
    expect(await Promise.all(calls)).toEqual(calls.map(() => frozen));
  });
});
