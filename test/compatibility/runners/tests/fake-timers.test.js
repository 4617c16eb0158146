import { routine, WorkerPool } from "wool-ts";
import { clock } from "./clock.js";

afterEach(() => {
  clock.useRealTimers();
});

test("a pool works while timers are fake", async () => {
  clock.useFakeTimers();
  clock.setSystemTime(new Date("2001-02-03T04:05:06Z"));
  const pool = await WorkerPool.start({ size: 1 });
  try {
    expect(await routine(async (n) => n + 1)(1)).toBe(2);
    const count = routine(async function* () {
      for (let n = 0; n < 3; n++) yield n;
    });
    const seen = [];
    for await (const n of count()) seen.push(n);
    expect(seen).toEqual([0, 1, 2]);
    const date = new Date(0);
    expect((await routine(async (given) => given)(date)).getTime()).toBe(0);
    expect(await routine(async () => new Date(0))()).toBeInstanceOf(Date);
    // Its time is over by the real clock.
    const wait = routine(() => new Promise(() => undefined)).with({ timeout: 20 });
    await expect(wait()).rejects.toMatchObject({ name: "TaskTimeout" });
    // Large enough to be sent in pieces, or through a file.
    const long = await routine(async (bytes) => bytes.length)(new Uint8Array(20_000_000));
    expect(long).toBe(20_000_000);
    expect(clock.getTimerCount()).toBe(0);
  } finally {
    await pool.stop();
  }
});

test("a pool that was started before goes on", async () => {
  const pool = await WorkerPool.start({ size: 1 });
  try {
    clock.useFakeTimers();
    expect(await routine(async (n) => n + 1)(1)).toBe(2);
    expect(new Date(await routine(async () => Date.now())()).getFullYear()).toBeGreaterThan(2001);
  } finally {
    await pool.stop();
  }
});
