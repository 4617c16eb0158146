import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, TaskTimeout, WorkerPool } from "wool-ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await WorkerPool.start({ size: 1 });
});
afterAll(async () => {
  await pool.stop();
});

const naturals = routine(
  async function* () {
    for (let i = 0; ; i++) yield i;
  },
  { prefetch: 5 },
);

describe("a stream with values fetched ahead", () => {
  test("rejects the next step with the reason of its signal, and is over", async () => {
    const controller = new AbortController();
    const stream = naturals.with({ signal: controller.signal })();
    for (let i = 0; i < 3; i++) expect(await stream.next()).toEqual({ done: false, value: i });
    await sleep(50);
    controller.abort("why");
    await expect(stream.next()).rejects.toBe("why");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test("rejects the next step when its time is up, and is over", async () => {
    const stream = naturals.with({ timeout: 100 })();
    expect(await stream.next()).toEqual({ done: false, value: 0 });
    await sleep(200);
    await expect(stream.next()).rejects.toThrow(TaskTimeout);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });
});
