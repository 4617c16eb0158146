import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { currentTask, routine, TaskTimeout, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";
import { note, notesOf, openDoor, waitAtDoor } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const readNotes = routine(async (key: string) => notesOf(key));
const open = routine(async (key: string) => openDoor(key));

/** Says when it runs, and what the reason was when it is told to stop. */
const untilTold = routine(async (key: string) => {
  const signal = currentTask()?.signal;
  await new Promise<void>((resolve) => {
    signal?.addEventListener("abort", () => resolve());
    note(key, "running");
  });
  note(key, signal?.reason);
});

const nest = routine(async (key: string) => await untilTold(key));

const forever = routine(async function* (key: string) {
  try {
    for (let i = 0; ; i++) {
      note(key, i);
      yield i;
      if (i === 1) await waitAtDoor(key);
    }
  } finally {
    note(key, "finally");
  }
});

describe("a signal", () => {
  test("rejects the call with its reason and tells the task", async () => {
    const key = randomUUID();
    const controller = new AbortController();
    const outcome = reasonOf(untilTold.with({ signal: controller.signal })(key));
    await until(async () => (await readNotes(key)).length === 1, "the task runs");
    const reason = new RangeError("no longer needed");
    controller.abort(reason);
    expect(await outcome).toBe(reason);
    await until(async () => (await readNotes(key)).length === 2, "the task was told");
    const [, told] = await readNotes(key);
    expect(told).toBeInstanceOf(RangeError);
    expect(told).toMatchObject({ message: "no longer needed" });
  });

  test("that was aborted before the call dispatches nothing", async () => {
    const key = randomUUID();
    const signal = AbortSignal.abort();
    expect(await reasonOf(untilTold.with({ signal })(key))).toBe(signal.reason);
    expect(await reasonOf(forever.with({ signal })(key).next())).toBe(signal.reason);
    expect(await readNotes(key)).toEqual([]);
  });

  test("cancels what the task has called, too", async () => {
    const key = randomUUID();
    const controller = new AbortController();
    const outcome = reasonOf(nest.with({ signal: controller.signal })(key));
    await until(async () => (await readNotes(key)).length === 1, "the nested task runs");
    controller.abort(new RangeError("all of it"));
    expect(await outcome).toBeInstanceOf(RangeError);
    await until(async () => (await readNotes(key)).length === 2, "the nested task was told");
  });

  test("ends a stream and runs the remote finally", async () => {
    const key = randomUUID();
    const controller = new AbortController();
    const stream = forever.with({ signal: controller.signal })(key);
    await stream.next();
    await stream.next();
    const pending = reasonOf(stream.next());
    controller.abort(new RangeError("enough"));
    expect(await pending).toBeInstanceOf(RangeError);
    await open(key);
    await until(async () => (await readNotes(key)).includes("finally"), "the finally block has been run");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test("ends a stream that waits for nobody", async () => {
    const key = randomUUID();
    const controller = new AbortController();
    const stream = forever.with({ signal: controller.signal })(key);
    await stream.next();
    controller.abort(new RangeError("between steps"));
    expect(await reasonOf(stream.next())).toBeInstanceOf(RangeError);
    await until(async () => (await readNotes(key)).includes("finally"), "the finally block has been run");
    expect(await readNotes(key)).toEqual([0, "finally"]);
  });

  test("does nothing to a call that has ended", async () => {
    const controller = new AbortController();
    expect(await readNotes.with({ signal: controller.signal })("nothing")).toEqual([]);
    controller.abort();
    expect(await readNotes("nothing")).toEqual([]);
  });

  test("shared by many calls ends them all", async () => {
    const key = randomUUID();
    const controller = new AbortController();
    const calls = Array.from({ length: 30 }, () => untilTold.with({ signal: controller.signal })(key));
    const outcomes = Promise.allSettled(calls);
    await until(async () => (await readNotes(key)).length === 30, "all run");
    controller.abort(new RangeError("everyone"));
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { message: "everyone" } });
    await until(async () => (await readNotes(key)).length === 60, "all were told");
  });
});

describe("a timeout", () => {
  test("rejects with TaskTimeout and tells the task", async () => {
    const key = randomUUID();
    const error = await reasonOf(untilTold.with({ timeout: 500, name: "slow one" })(key));
    expect(error).toBeInstanceOf(TaskTimeout);
    expect(error).toMatchObject({ message: expect.stringMatching(/slow one.*500 ms/) });
    await until(async () => (await readNotes(key)).length === 2, "the task was told");
    expect((await readNotes(key))[1]).toBeInstanceOf(TaskTimeout);
  });

  test("of the routine holds unless a call has its own", async () => {
    const key = randomUUID();
    const wait = routine(async (name: string) => await waitAtDoor(name), { timeout: 20 });
    expect(await reasonOf(wait(key))).toBeInstanceOf(TaskTimeout);
    const patient = wait.with({ timeout: 60_000 })(key);
    await open(key);
    expect(await patient).toBeUndefined();
  });

  test("holds for a whole stream", async () => {
    const key = randomUUID();
    const stream = forever.with({ timeout: 500 })(key);
    await stream.next();
    await stream.next();
    expect(await reasonOf(stream.next())).toBeInstanceOf(TaskTimeout);
    await open(key);
    await until(async () => (await readNotes(key)).includes("finally"), "the finally block has been run");
  });
});
