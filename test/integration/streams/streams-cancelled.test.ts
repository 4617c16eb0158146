import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, TaskTimeout, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { until } from "../../support/until.ts";
import { note, notesOf } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const naturals = routine(
  async function* (key: string) {
    for (let i = 0; ; i++) {
      note(key, i);
      yield i;
    }
  },
  { prefetch: 5 },
);
const steps = routine(async (key: string) => notesOf(key).length);

describe("a stream with values fetched ahead", () => {
  test("rejects the next step with the reason of its signal, and is over", async () => {
    const controller = new AbortController();
    const stream = naturals.with({ signal: controller.signal })("aborted");
    for (let i = 0; i < 3; i++) expect(await stream.next()).toEqual({ done: false, value: i });
    await until(async () => (await steps("aborted")) > 3, "the worker has run ahead");
    controller.abort("why");
    await expect(stream.next()).rejects.toBe("why");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test("rejects the next step when its time is up, and is over", async () => {
    const stream = naturals.with({ timeout: 100 })("late");
    expect(await stream.next()).toEqual({ done: false, value: 0 });
    await until(() => pool.stats().inFlight === 0, "its time is over");
    await expect(stream.next()).rejects.toThrow(TaskTimeout);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });
});
