import { randomUUID } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ContextVar,
  currentTask,
  events,
  NoWorkersAvailable,
  PoolSaturated,
  routine,
  SerializationError,
  type TaskEvent,
  TaskTimeout,
  WorkerPool,
} from "wool-ts";
import { killProcess } from "../../support/processes.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";
import { note, notesOf } from "../../support/worker-notes.ts";

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
const endless = routine(async function* () {
  for (let i = 0; ; i++) yield i;
});
const double = routine(async (x: number) => 2 * x);
const show = routine(async (value: unknown) => String(value));
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

/** Calls `wait` under this name, and cancels it when its worker has started it. */
async function cancelOnceStarted(on: WorkerPool, name: string): Promise<void> {
  const abort = new AbortController();
  using _ = events.on("task-started", ({ task }) => {
    if (task.name === name) abort.abort(new Error("enough"));
  });
  await reasonOf(on.dispatch(wait.with({ name, signal: abort.signal })));
}

/** Each task has each of its stages once and in order; those that were started also as often as they were stopped. */
function expectOnce(seen: readonly TaskEvent[]): void {
  for (const id of new Set(seen.map(({ task }) => task.id))) {
    const stages = types(seen.filter(({ task }) => task.id === id));
    expect(stages.join()).toMatch(/^(task-created,)?(task-scheduled,(task-started,task-stopped,)*)?task-completed$/);
  }
}

const types = (seen: readonly TaskEvent[]): string[] => seen.map(({ type }) => type);

describe("a caller hears of its tasks", () => {
  test("that return: all five stages, once and in order, with durations", async () => {
    const seen = await eventsOf(1, () => pool.dispatch(add.with({ key: "k" }), 1, 2));
    expect(types(seen)).toEqual(ALL);
    expect(new Set(seen.map(({ task }) => task.id)).size).toBe(1);
    expect(seen[0]?.task).toMatchObject({ name: "add", key: "k", kind: "call" });
    expect(seen[0]?.worker).toBeUndefined();
    expect(seen[0]?.task.tag).toBe("add");
    const [uid] = pool.workers.keys();
    for (const { worker, task } of seen.slice(1)) expect([worker, task.tag]).toEqual([uid, `add@${uid}`]);
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
    const error = last(threw)?.error as Error;
    expect(last(threw)).toMatchObject({ outcome: "threw", error: expect.any(RangeError) });
    expect([error.name, error.stack]).toEqual(["RangeError", expect.stringContaining("task-events.test")]);
    const late = await eventsOf(1, () => reasonOf(pool.dispatch(wait.with({ timeout: 1000 }))));
    expect(types(late)).toEqual(ALL);
    expect(last(late)).toMatchObject({ outcome: "timed-out", error: expect.any(TaskTimeout) });
    // It threw what a call of its own ended with, and had time itself.
    const impatient = routine(async () => await wait.with({ timeout: 20 })(), { timeout: 60_000 });
    const passedOn = await eventsOf(1, () => reasonOf(pool.dispatch(impatient)));
    expect(last(passedOn)).toMatchObject({ outcome: "threw", error: expect.any(TaskTimeout) });
    const cancelled = await eventsOf(1, () => cancelOnceStarted(pool, "cancelled"));
    expect(types(cancelled)).toEqual(ALL);
    expect(last(cancelled)).toMatchObject({ outcome: "cancelled", error: { message: "enough" } });
    await using other = await WorkerPool.start({ size: 1 });
    const kill = routine(async () => process.kill(process.pid, "SIGKILL"));
    const lost = await eventsOf(1, () => reasonOf(other.dispatch(kill)));
    expect(last(lost)).toMatchObject({ outcome: "lost" });
    expectOnce(lost);
  });

  test("that no worker ever has: created and completed", async () => {
    const created = ["task-created", "task-completed"];
    const socket = new (await import("node:net")).Socket();
    const refused = async (outcome: string, error: unknown, body: () => Promise<unknown>): Promise<void> => {
      const seen = await eventsOf(1, body);
      expect(types(seen)).toEqual(created);
      expect(seen[1]).toMatchObject({ outcome, error });
      expect(seen[1]?.worker).toBeUndefined();
    };
    const signal = AbortSignal.abort(new Error("before it began"));
    await refused("cancelled", signal.reason, () => reasonOf(pool.dispatch(wait.with({ signal }))));
    await refused("cancelled", signal.reason, () => reasonOf(pool.dispatch(count.with({ signal }), 1).next()));
    const needy = { needs: ["nothing that there is"] };
    await refused("threw", expect.any(NoWorkersAvailable), () => reasonOf(pool.dispatch(wait.with(needy))));
    await refused("threw", expect.any(NoWorkersAvailable), () => reasonOf(pool.dispatch(count.with(needy), 1).next()));
    await refused("threw", expect.any(SerializationError), () => reasonOf(pool.dispatch(show, socket)));
  });

  test("that find no room: created and completed", async () => {
    await using narrow = await WorkerPool.start({ size: 1, maxPending: 0, workerOptions: { maxConcurrency: 1 } });
    await narrow.dispatch(add, 1, 1);
    const abort = new AbortController();
    let saturated: string | undefined;
    // The worker is sent more than it runs, as many as its pace suggests: not all of so many.
    const seen = await eventsOf(2000, async () => {
      const calls = Array.from({ length: 2000 }, async (_each, i) => {
        const name = `call ${i}`;
        const reason = await reasonOf(narrow.dispatch(wait.with({ name, signal: abort.signal })));
        if (reason instanceof PoolSaturated) saturated ??= name;
      });
      await until(() => saturated !== undefined, "a call finds no room");
      abort.abort();
      await Promise.all(calls);
    });
    const its = seen.filter(({ task }) => task.name === saturated);
    expect(types(its)).toEqual(["task-created", "task-completed"]);
    expect(its[1]).toMatchObject({ outcome: "threw", error: expect.any(PoolSaturated) });
    expect(its[1]?.worker).toBeUndefined();
    expectOnce(seen);
  });

  test("that are tried once more, elsewhere: each stage once", async () => {
    await using other = await WorkerPool.start({ size: 2 });
    await other.broadcast(add, 1, 2);
    const marker = join(tmpdir(), `wool-events-${randomUUID()}`);
    const killOnce = routine(
      async (file: string) => {
        const { existsSync, writeFileSync } = await import("node:fs");
        if (existsSync(file)) return currentTask()?.worker;
        writeFileSync(file, "");
        // Until the caller has heard that it was started.
        while (!existsSync(`${file}.heard`)) await new Promise((resolve) => setTimeout(resolve, 5));
        process.kill(process.pid, "SIGKILL");
        return await new Promise<never>(() => undefined);
      },
      { idempotent: true },
    );
    let survivor: unknown;
    using _heard = events.on("task-started", () => writeFileSync(`${marker}.heard`, ""));
    const seen = await eventsOf(1, async () => (survivor = await other.dispatch(killOnce, marker)));
    for (const file of [marker, `${marker}.heard`]) rmSync(file);
    expect(types(seen)).toEqual(ALL);
    expect(seen[4]).toMatchObject({ outcome: "returned", worker: survivor });
    expect(seen[1]?.worker).not.toBe(survivor);
  });

  test("that stream: started and stopped once for each step", async () => {
    const seen = await eventsOf(1, async () => {
      for await (const _ of pool.dispatch(count, 2)) void _;
    });
    const step = ["task-started", "task-stopped"];
    expect(types(seen)).toEqual(["task-created", "task-scheduled", ...step, ...step, ...step, "task-completed"]);
    expect(seen[0]?.task.kind).toBe("stream");
  });

  test.each([0, 8])(
    "that stream and are ended by a throw, a return, a cancellation (prefetch %d)",
    async (prefetch) => {
      const open = async (signal?: AbortSignal) => {
        const stream = pool.dispatch(endless.with({ prefetch, ...(signal === undefined ? {} : { signal }) }));
        await stream.next();
        return stream;
      };
      const thrown = await eventsOf(1, async () => await reasonOf((await open()).throw(new RangeError("into it"))));
      expectOnce(thrown);
      expect(thrown.at(-1)).toMatchObject({ outcome: "threw", error: expect.any(RangeError) });
      const returned = await eventsOf(1, async () => await (await open()).return(undefined as never));
      expectOnce(returned);
      expect(returned.at(-1)).toMatchObject({ outcome: "returned" });
      const abort = new AbortController();
      const cancelled = await eventsOf(1, async () => {
        const stream = await open(abort.signal);
        abort.abort(new Error("enough"));
        await reasonOf(stream.next());
      });
      expectOnce(cancelled);
      expect(cancelled.at(-1)).toMatchObject({ outcome: "cancelled" });
      if (prefetch > 0) return;
      const step = ["task-started", "task-stopped"];
      for (const seen of [thrown, returned]) expect(types(seen).slice(2, -1)).toEqual([...step, ...step]);
      expect(types(cancelled).slice(2, -1)).toEqual(step);
    },
  );

  test("whatever becomes of them: each is completed, and has each stage once and in order", async () => {
    await using other = await WorkerPool.start({ size: 2 });
    await other.broadcast(add, 1, 2);
    const seen: TaskEvent[] = [];
    using _ = events.on("task", (event) => seen.push(event));
    const abort = (i: number): AbortSignal => AbortSignal.timeout(i % 40);
    const ways: ((i: number) => Promise<unknown>)[] = [
      (i) => other.dispatch(add, i, 1),
      () => other.dispatch(fail),
      (i) => other.dispatch(wait.with({ timeout: i % 30 })),
      (i) => other.dispatch(wait.with({ signal: abort(i) })),
      (i) => other.dispatch(add.with({ signal: abort(i), idempotent: true }), i, 1),
      (i) => other.dispatch(add.with({ dispatchTimeout: i % 5 }), i, 1),
      async (i) => {
        for await (const value of other.dispatch(endless.with({ prefetch: i % 3, signal: abort(i) }))) {
          if (value > i % 7) break;
        }
      },
      async (i) => await other.dispatch(count, i % 4).next(),
    ];
    const calls = Array.from({ length: 400 }, async (_each, i) => {
      await new Promise((resolve) => setTimeout(resolve, i / 2));
      if (i % 150 === 149) killProcess([...other.workers.values()][0]?.pid);
      return await reasonOf((ways[i % ways.length] ?? fail)(i));
    });
    await Promise.all(calls);
    // A stream that was left where it is ends with its pool.
    await other.stop();
    const completed = (): TaskEvent[] => seen.filter(({ type }) => type === "task-completed");
    await until(() => completed().length === 400, "each call has been completed");
    expectOnce(seen);
    const outcomes = new Set(completed().map(({ outcome }) => outcome));
    expect(outcomes).toContain("returned");
    expect(outcomes).toContain("threw");
    expect(outcomes).toContain("cancelled");
    expect(outcomes).toContain("timed-out");
  });

  test("that broadcast and map make", async () => {
    const seen = await eventsOf(4, async () => {
      await pool.broadcast(add, 1, 2);
      for await (const _ of pool.map(double, [1, 2, 3])) void _;
    });
    expectOnce(seen);
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

describe("a worker hears of the tasks that it runs", () => {
  const user = new ContextVar<string>("user of events", { default: "nobody" });
  const SEEN = ALL.slice(1);
  let observed: WorkerPool;
  beforeAll(async () => {
    const setup = (): void => {
      events.on("task", ({ type, task, worker, outcome, error, queued, ran, total }) => {
        const { name: threw, stack } = error instanceof Error ? error : {};
        const shown = { type, task, worker, outcome, threw, stack, queued, ran, total };
        note("events", { ...shown, inside: currentTask()?.id, user: user.get() });
      });
    };
    observed = await WorkerPool.start({ size: 1, workerOptions: { setup } });
  });
  afterAll(async () => {
    await observed.stop();
  });

  type Shown = TaskEvent & { threw?: string; stack?: string; inside?: string; user: string };
  const look = routine(async () => notesOf("events") as Shown[], { name: "look" });
  /** What the worker was told of the tasks of these names, once it knows of the ends of so many. */
  async function toldOf(names: readonly string[], completions: number): Promise<Shown[]> {
    let told: Shown[] = [];
    await until(async () => {
      told = (await observed.dispatch(look)).filter(({ task }) => names.includes(task.name));
      return told.filter(({ type }) => type === "task-completed").length >= completions;
    }, "the worker has heard of the ends");
    return told;
  }

  test("calls of others from task-scheduled on, with their outcome and durations", async () => {
    const [uid] = observed.workers.keys();
    const seen = await eventsOf(1, () =>
      user.run("ada", () => observed.dispatch(add.with({ name: "a1", key: "k" }), 1, 2)),
    );
    const told = await toldOf(["a1"], 1);
    expect(told.map(({ type }) => type)).toEqual(SEEN);
    for (const event of told) {
      expect(event.task).toEqual({ ...seen[1]?.task });
      expect(event.worker).toBe(uid);
      // Handlers run outside of tasks.
      expect([event.inside, event.user]).toEqual([undefined, "nobody"]);
    }
    const { outcome, queued = -1, ran = -1, total = -1 } = told[3] as Shown;
    expect(outcome).toBe("returned");
    expect(Math.min(queued, ran)).toBeGreaterThanOrEqual(0);
    expect(total).toBeCloseTo(queued + ran, 3);
  });

  test("what they threw as type and stack, and that they were cancelled or ran out of time", async () => {
    await reasonOf(observed.dispatch(fail.with({ name: "b1" })));
    await reasonOf(observed.dispatch(wait.with({ name: "b2", timeout: 1000 })));
    await cancelOnceStarted(observed, "b3");
    const told = await toldOf(["b1", "b2", "b3"], 3);
    for (const name of ["b1", "b2", "b3"]) {
      expect(types(told.filter(({ task }) => task.name === name))).toEqual(SEEN);
    }
    const ends = told.filter(({ type }) => type === "task-completed");
    expect(ends.map(({ outcome, threw }) => [outcome, threw])).toEqual([
      ["threw", "RangeError"],
      ["timed-out", "TaskTimeout"],
      ["cancelled", "Error"],
    ]);
    expect(ends[0]?.stack).toContain("task-events.test");
  });

  test("each step of streams, and their ends", async () => {
    for await (const _ of observed.dispatch(count.with({ name: "c1" }), 2)) void _;
    const left = observed.dispatch(endless.with({ name: "c2" }));
    await left.next();
    await left.return(undefined as never);
    const thrown = observed.dispatch(endless.with({ name: "c3" }));
    await thrown.next();
    await reasonOf(thrown.throw(new RangeError("into it")));
    const told = await toldOf(["c1", "c2", "c3"], 3);
    expectOnce(told);
    const starts = (name: string): number =>
      told.filter(({ type, task }) => type === "task-started" && task.name === name).length;
    expect(["c1", "c2", "c3"].map(starts)).toEqual([3, 2, 2]);
    expect(told.filter(({ type }) => type === "task-completed").map(({ outcome }) => outcome)).toEqual([
      "returned",
      "returned",
      "threw",
    ]);
  });

  test("its own nested calls once, although it runs them, too", async () => {
    const inner = routine(async () => currentTask()?.id, { name: "d2" });
    const outer = routine(async () => [currentTask()?.id, await inner()], { name: "d1" });
    const [outerId, innerId] = await observed.dispatch(outer);
    const told = await toldOf(["d1", "d2"], 2);
    expect(types(told.filter(({ task }) => task.id === outerId))).toEqual(SEEN);
    const nested = told.filter(({ task }) => task.id === innerId);
    expect(types(nested)).toEqual(ALL);
    for (const { task } of nested) expect(task.caller).toBe(outerId);
  });
});
