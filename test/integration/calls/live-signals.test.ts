import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { routine, SerializationError, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { until } from "../../support/until.ts";

/** Tells that it waits, then when and why each of its signals was aborted. */
const watch = routine(async function* (options: { signals: AbortSignal[] }) {
  const reasons: unknown[] = [];
  const all = options.signals.map(
    (signal, i) =>
      new Promise<void>((resolve) => {
        const note = () => {
          reasons[i] = signal.reason;
          resolve();
        };
        if (signal.aborted) note();
        else signal.addEventListener("abort", note, { once: true });
      }),
  );
  yield options.signals.map((signal) => signal.aborted);
  await Promise.all(all);
  return reasons;
});

class Stop extends Error {
  override name = "Stop";
  readonly level: number;
  constructor(level: number) {
    super(`stop ${level}`);
    this.level = level;
  }
}

describe("an AbortSignal among the arguments", () => {
  test("is live at the worker, wherever it is in them, and its reason travels", async () => {
    await using pool = await poolOf(1);
    const first = new AbortController();
    const second = new AbortController();
    const stream = pool.dispatch(watch, { signals: [first.signal, second.signal, AbortSignal.abort("before")] });
    expect((await stream.next()).value).toEqual([false, false, true]);
    const end = stream.next();
    second.abort(new Stop(2));
    first.abort();
    const { value } = await end;
    const [one, two, three] = value as [DOMException, Stop, string];
    expect(one.name).toBe("AbortError");
    expect(two).toBeInstanceOf(Stop);
    expect([two.level, three]).toEqual([2, "before"]);
  });

  test("that appears twice is one signal", async () => {
    await using pool = await poolOf(1);
    const same = routine(
      async (a: AbortSignal, b: { again: AbortSignal }) => a === b.again && a instanceof AbortSignal,
    );
    const { signal } = new AbortController();
    expect(await pool.dispatch(same, signal, { again: signal })).toBe(true);
  });

  test("may be passed on by the task, and reaches the next worker", async () => {
    await using pool = await poolOf(2);
    const inner = routine(async (signal: AbortSignal, file: string) => {
      const { writeFileSync } = await import("node:fs");
      writeFileSync(file, "waiting");
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return String(signal.reason);
    });
    const outer = routine(async (signal: AbortSignal, file: string) => `inner: ${await inner(signal, file)}`);
    const { mkdtempSync, existsSync, rmSync } = await import("node:fs");
    const { tmpdir } = await import("node:os");
    const { join } = await import("node:path");
    const folder = mkdtempSync(join(tmpdir(), "wool-signals-"));
    try {
      const controller = new AbortController();
      const result = pool.dispatch(outer, controller.signal, join(folder, "mark"));
      await until(() => existsSync(join(folder, "mark")), "the inner task waits");
      controller.abort("enough");
      expect(await result).toBe("inner: enough");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("aborted while the call waits for a worker arrives aborted", async () => {
    await using pool = await WorkerPool.start({ size: 1, workerOptions: { maxConcurrency: 1 } });
    const gate = new AbortController();
    const hold = routine(async function* (signal: AbortSignal) {
      yield "holding";
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    });
    const look = routine(async (signal: AbortSignal) => [signal.aborted, signal.reason as unknown]);
    const held = pool.dispatch(hold, gate.signal);
    await held.next();
    const end = held.next();
    const controller = new AbortController();
    const waiting = Array.from({ length: 5 }, () => pool.dispatch(look, controller.signal));
    controller.abort("early");
    gate.abort();
    await end;
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 5 }, () => [true, "early"]));
  });

  test("leaves no listener behind when the call is over", async () => {
    await using pool = await poolOf(1);
    const controller = new AbortController();
    const nothing = routine(async (_signal: AbortSignal) => undefined);
    for (let i = 0; i < 50; i++) await pool.dispatch(nothing, controller.signal);
    expect(getEventListeners(controller.signal, "abort").length).toBeLessThanOrEqual(1);
    controller.abort();
  });

  test("cannot be sent back, nor captured, and the error says what to do", async () => {
    await using pool = await poolOf(1);
    const back = routine(async (signal: AbortSignal) => signal);
    const error = await pool.dispatch(back, new AbortController().signal).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SerializationError);
    expect(error).toMatchObject({ message: expect.stringMatching(/stays live only among the arguments/) });
    const { signal } = new AbortController();
    const captured = routine(async () => signal.aborted);
    const refused = await pool.dispatch(captured).catch((reason: unknown) => reason);
    expect(refused).toMatchObject({ message: expect.stringMatching(/Pass it as an argument/) });
    const aborted = await pool.dispatch(back, AbortSignal.abort("done"));
    expect([aborted.aborted, aborted.reason]).toEqual([true, "done"]);
  });
});
