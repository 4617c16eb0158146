import { clock } from "./clock.js";
import { load } from "./load.js";

test("modules that are loaded again work beside the first ones", async () => {
  const first = await load();
  clock.resetModules();
  const second = await load();
  expect(second.WorkerPool).not.toBe(first.WorkerPool);
  for (const { routine, TaskTimeout, WorkerPool } of [first, second]) {
    const pool = await WorkerPool.start({ size: 1 });
    try {
      expect(await routine(async (n) => n + 1)(1)).toBe(2);
      const wait = routine(() => new Promise(() => undefined)).with({ timeout: 20 });
      await expect(wait()).rejects.toBeInstanceOf(TaskTimeout);
    } finally {
      await pool.stop();
    }
  }
});

test("a routine of one copy uses the pool of the other", async () => {
  const first = await load();
  clock.resetModules();
  const second = await load();
  const pool = await second.WorkerPool.start({ size: 1 });
  try {
    expect(await first.routine(async () => process.pid)()).not.toBe(process.pid);
    const wait = first.routine(() => new Promise(() => undefined)).with({ timeout: 20 });
    const late = await wait().catch((error) => error);
    expect(first.WoolError.isWoolError(late)).toBe(true);
    expect(late.code).toBe("WOOL_TASK_TIMEOUT");
  } finally {
    await pool.stop();
  }
});
