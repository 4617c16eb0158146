import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { events, routine, type TaskEvent, TaskTimeout, WorkerPool } from "wool-ts";
import { reasonOf } from "../support/reason-of.ts";
import { until } from "../support/until.ts";

let pool: WorkerPool;
beforeAll(async () => {
  pool = await WorkerPool.start({ size: 1 });
});
afterAll(async () => {
  await pool.stop();
});

const add = routine(async (x: number, y: number) => x + y, { name: "add" });
const fail = routine(async () => {
  throw new RangeError("as wanted");
});
const wait = routine(async () => {
  await new Promise(() => setInterval(() => undefined, 1000));
});
const count = routine(async function* (limit: number) {
  for (let i = 0; i < limit; i++) yield i;
});
const ALL = ["task-created", "task-scheduled", "task-started", "task-stopped", "task-completed"];

/** The events of what `body` does, up to the last completion. */
async function eventsOf(completions: number, body: () => Promise<unknown>): Promise<TaskEvent[]> {
  const seen: TaskEvent[] = [];
  using _ = events.on("task", (event) => seen.push(event));
  await body();
  const completed = (): number => seen.filter(({ type }) => type === "task-completed").length;
  await until(() => completed() === completions, "the completions have been told");
  return seen;
}

const types = (seen: readonly TaskEvent[]): string[] => seen.map(({ type }) => type);

describe("a caller hears of its tasks", () => {
  test("that return: all five stages, once and in order, with durations", async () => {
    const seen = await eventsOf(1, () => pool.dispatch(add.with({ key: "k" }), 1, 2));
    expect(types(seen)).toEqual(ALL);
    expect(new Set(seen.map(({ task }) => task.id)).size).toBe(1);
    expect(seen[0]?.task).toMatchObject({ name: "add", key: "k", kind: "call" });
    expect(seen[0]?.worker).toBeUndefined();
    const [uid] = pool.workers.keys();
    for (const { worker } of seen.slice(1)) expect(worker).toBe(uid);
    const { outcome, error, queued = -1, ran = -1, total = -1 } = seen[4] as TaskEvent;
    expect([outcome, error]).toEqual(["returned", undefined]);
    expect(queued).toBeGreaterThanOrEqual(0);
    expect(ran).toBeGreaterThanOrEqual(0);
    expect(total).toBeCloseTo(queued + ran, 3);
  });

  test("that throw, run out of time, are cancelled or lost, with the outcome", async () => {
    const last = (seen: readonly TaskEvent[]) => seen.at(-1);
    const threw = await eventsOf(1, () => reasonOf(pool.dispatch(fail)));
    expect(types(threw)).toEqual(ALL);
    expect(last(threw)).toMatchObject({ outcome: "threw", error: expect.any(RangeError) });
    const late = await eventsOf(1, () => reasonOf(pool.dispatch(wait.with({ timeout: 300 }))));
    expect(last(late)).toMatchObject({ outcome: "timed-out", error: expect.any(TaskTimeout) });
    const abort = new AbortController();
    const cancelled = await eventsOf(1, async () => {
      const call = reasonOf(pool.dispatch(wait.with({ signal: abort.signal })));
      await until(() => pool.stats().inFlight > 0, "it is at the worker");
      abort.abort(new Error("enough"));
      await call;
    });
    expect(last(cancelled)).toMatchObject({ outcome: "cancelled", error: abort.signal.reason as Error });
    await using other = await WorkerPool.start({ size: 1 });
    const kill = routine(async () => process.kill(process.pid, "SIGKILL"));
    const lost = await eventsOf(1, () => reasonOf(other.dispatch(kill)));
    expect(last(lost)).toMatchObject({ outcome: "lost" });
  });

  test("that stream: started and stopped once for each step", async () => {
    const seen = await eventsOf(1, async () => {
      for await (const _ of pool.dispatch(count, 2)) void _;
    });
    const step = ["task-started", "task-stopped"];
    expect(types(seen)).toEqual(["task-created", "task-scheduled", ...step, ...step, ...step, "task-completed"]);
    expect(seen[0]?.task.kind).toBe("stream");
  });

  test("on diagnostics channels, and in a task for the calls that it makes itself", async () => {
    const published: unknown[] = [];
    const note = (event: unknown): void => void published.push(event);
    subscribe("wool:task-completed", note);
    const nested = routine(async () => {
      const stages: { type: string; caller: string | undefined }[] = [];
      const registration = events.on("task", ({ type, task }) => void stages.push({ type, caller: task.caller }));
      await add(1, 2);
      await new Promise((resolve) => setTimeout(resolve));
      registration[Symbol.dispose]();
      return stages;
    });
    const stages = await pool.dispatch(nested);
    await until(() => published.length === 1, "the caller's own call has been published");
    unsubscribe("wool:task-completed", note);
    const [{ task }] = published as [TaskEvent];
    expect(stages.map(({ type }) => type)).toEqual(ALL);
    for (const { caller } of stages) expect(caller).toBe(task.id);
  });
});
