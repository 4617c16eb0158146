import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ContextVar,
  currentTask,
  InvalidArgument,
  routine,
  runtimeContext,
  type Task,
  TaskTimeout,
  WorkerPool,
} from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { until } from "../../support/until.ts";
import { note, notesOf, openDoor, waitAtDoor } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const user = new ContextVar<string>("user", { default: "nobody" });
const limits = new ContextVar<{ max: number }>("limits");

const seeUser = routine(async () => user.get());
const seeUserTwice = routine(async () => [user.get(), await seeUser()]);
const readNotes = routine(async (key: string) => notesOf(key));
const open = routine(async (key: string) => openDoor(key));

describe("currentTask", () => {
  test("tells of the task that runs", async () => {
    const look = routine(
      async () => {
        const task = currentTask();
        return {
          id: task?.id,
          caller: task?.caller,
          name: task?.name,
          tag: task?.tag,
          deadline: task?.deadline,
          now: Date.now(),
          aborted: task?.signal.aborted,
          signal: task?.signal instanceof AbortSignal,
          exception: task?.exception,
          worker: task?.worker,
        };
      },
      { name: "look around", timeout: 30_000 },
    );
    const [first, second] = [await look(), await look()];
    expect(first).toMatchObject({
      caller: undefined,
      name: "look around",
      aborted: false,
      signal: true,
      exception: undefined,
    });
    expect(first.tag).toContain("look around");
    expect(first.worker).toBe([...pool.workers.keys()][0]);
    expect(first.id).toBeTypeOf("string");
    expect(first.id).not.toBe(second.id);
    expect(first.deadline).toBeGreaterThan(first.now);
    expect(first.deadline).toBeLessThanOrEqual(first.now + 30_000);
  });

  test("is a frozen plain object that a task can print and return", async () => {
    const look = routine(async () => {
      const task = currentTask() as Task;
      const { signal: _signal, ...plain } = task;
      return [plain, Object.isFrozen(task), Object.getPrototypeOf(task) === Object.prototype, inspect(task)] as const;
    });
    const [uid = ""] = pool.workers.keys();
    const [plain, isFrozen, isPlain, printed] = await look.with({ key: "shard-7" })();
    expect([isFrozen, isPlain]).toEqual([true, true]);
    expect(plain).toEqual({
      id: expect.any(String),
      caller: undefined,
      name: "look",
      tag: `look@${uid}`,
      worker: uid,
      deadline: undefined,
      key: "shard-7",
    });
    expect(printed).not.toMatch(/session/i);
    expect((await look())[0].key).toBeUndefined();
  });

  test("has no deadline without a timeout, and is not there outside of tasks", async () => {
    const deadline = routine(async () => currentTask()?.deadline);
    expect(await deadline()).toBeUndefined();
    expect(currentTask()).toBeUndefined();
    expect(await deadline.local()).toBeUndefined();
  });

  test("keeps what the task threw", async () => {
    const failing = routine(async () => {
      note("thrown", currentTask());
      throw new RangeError("kept");
    });
    const exception = routine(async () => {
      const [task] = notesOf("thrown") as { readonly exception?: unknown }[];
      return task?.exception;
    });
    await expect(failing()).rejects.toThrow("kept");
    expect(await exception()).toEqual(new RangeError("kept"));
  });

  test("tells a finally why its task ends: cancelled, out of time, or by an error that its caller threw into it", async () => {
    const patient = routine(async (key: string) => {
      const signal = currentTask()?.signal;
      try {
        note(key, currentTask()?.exception);
        await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
      } finally {
        note(key, currentTask()?.exception);
      }
    });
    const stream = routine(async function* (key: string): AsyncGenerator<string, void, void> {
      try {
        for (;;) {
          try {
            yield "step";
          } catch (error) {
            if (!(error instanceof TypeError)) throw error;
            note(key, currentTask()?.exception);
            yield "caught";
            note(key, currentTask()?.exception);
          }
        }
      } finally {
        note(key, currentTask()?.exception);
      }
    });
    const notesFor = async (key: string, count: number): Promise<unknown[]> => {
      await until(async () => (await readNotes(key)).length === count, "the task has noted it");
      return await readNotes(key);
    };
    await patient
      .with({ timeout: 50 })("late task")
      .catch(() => undefined);
    expect(await notesFor("late task", 2)).toEqual([undefined, expect.any(TaskTimeout)]);
    const cancelled = new AbortController();
    const running = stream.with({ signal: cancelled.signal })("cancelled stream");
    await running.next();
    cancelled.abort(new RangeError("no longer wanted"));
    expect(await notesFor("cancelled stream", 1)).toEqual([new RangeError("no longer wanted")]);
    const thrown = stream("thrown into");
    await thrown.next();
    expect(await thrown.throw(new TypeError("to be caught"))).toEqual({ done: false, value: "caught" });
    await thrown.next();
    await thrown.throw(new RangeError("to end it")).catch(() => undefined);
    expect(await notesFor("thrown into", 3)).toEqual([
      new TypeError("to be caught"),
      undefined,
      new RangeError("to end it"),
    ]);
  });

  test("is one for each of the tasks that run at once", async () => {
    const slow = routine(async (key: string) => {
      const before = currentTask()?.id;
      await waitAtDoor(key);
      return [before, currentTask()?.id];
    });
    const running = [slow("at once"), slow("at once"), slow("at once")];
    await open("at once");
    const ids = await Promise.all(running);
    for (const [before, after] of ids) expect(after).toBe(before);
    expect(new Set(ids.map(([id]) => id)).size).toBe(3);
  });
});

describe("ContextVar", () => {
  test("is seen by the task and by what the task calls", async () => {
    expect(await user.run("ada", () => seeUserTwice())).toEqual(["ada", "ada"]);
  });

  test("has its default where nobody has set it", async () => {
    expect(user.get()).toBe("nobody");
    expect(await seeUserTwice()).toEqual(["nobody", "nobody"]);
  });

  test("without a value and a default says so, here and in a task", async () => {
    expect(() => limits.get()).toThrow(InvalidArgument);
    const read = routine(async () => limits.get());
    await expect(read()).rejects.toThrow(/"limits"/);
    expect(await limits.run({ max: 3 }, () => read())).toEqual({ max: 3 });
  });

  test("that was set to undefined is undefined, not its default", async () => {
    const maybe = new ContextVar<string | undefined>("maybe", { default: "default" });
    const read = routine(async () => maybe.get());
    expect(await maybe.run(undefined, () => read())).toBeUndefined();
  });

  test("is its own for each of the calls made at once", async () => {
    const slow = routine(async (key: string) => {
      await waitAtDoor(key);
      return [user.get(), await seeUser()];
    });
    const calls = ["a", "b", "c"].map((name) => user.run(name, () => slow("isolated")));
    calls.push(slow("isolated"));
    await open("isolated");
    expect(await Promise.all(calls)).toEqual([
      ["a", "a"],
      ["b", "b"],
      ["c", "c"],
      ["nobody", "nobody"],
    ]);
  });

  test("can be set by a task for what it calls, and nothing flows back", async () => {
    const override = routine(async () => {
      const inside = await user.run("inner", () => seeUser());
      return [inside, user.get(), await seeUser()];
    });
    const seen = await user.run("outer", async () => [...(await override()), user.get()]);
    expect(seen).toEqual(["inner", "outer", "outer", "outer"]);
    expect(user.get()).toBe("nobody");
  });

  test("is a copy in the task: changing its value there changes nothing here", async () => {
    const change = routine(async () => {
      limits.get().max++;
      return limits.get().max;
    });
    const here = { max: 1 };
    expect(await limits.run(here, () => change())).toBe(2);
    expect(here).toEqual({ max: 1 });
  });

  test("is told apart by namespace, and shared by what evaluates its declaration again", async () => {
    const declare = (fallback: number) => new ContextVar<number>("shared name", { namespace: "a", default: fallback });
    const mine = declare(0);
    const other = new ContextVar<number>("shared name", { namespace: "b", default: 0 });
    const again = declare(-1);
    const read = routine(async () => [mine.get(), other.get(), again.get()]);
    expect(await mine.run(5, () => read())).toEqual([5, 0, 5]);
  });

  test("is seen at every step of a generator, and by what it calls", async () => {
    const watch = routine(async function* () {
      yield [user.get(), await seeUser()];
      await new Promise((resolve) => setImmediate(resolve));
      yield [user.get(), await seeUser()];
    });
    const seen = await user.run("grace", async () => {
      const all: string[][] = [];
      for await (const pair of watch()) all.push(pair);
      return all;
    });
    expect(seen).toEqual([
      ["grace", "grace"],
      ["grace", "grace"],
    ]);
  });

  test("works without any pool", async () => {
    expect(await user.run("here", () => seeUser.local())).toBe("here");
  });

  test.each(["", 5, undefined])("with the name %j is refused", (name) => {
    expect(() => new ContextVar(name as string)).toThrow(InvalidArgument);
  });
});

describe("runtimeContext", () => {
  const untilAborted = routine(async (key: string) => {
    await new Promise<void>((resolve) => {
      currentTask()?.signal.addEventListener("abort", () => resolve());
      note(key, "waiting");
    });
    note(key, "aborted");
  });

  test("a signal cancels every call of the scope, and what those call", async () => {
    const nest = routine(async (key: string) => await untilAborted(key));
    const controller = new AbortController();
    const calls = runtimeContext.run({ signal: controller.signal }, () => [untilAborted("scope"), nest("scope")]);
    const outcomes = Promise.allSettled(calls);
    await until(async () => (await readNotes("scope")).length === 2, "both wait");
    controller.abort(new RangeError("scope over"));
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { message: "scope over" } });
    await until(async () => (await readNotes("scope")).length === 4, "both were told");
  });

  test("calls outside of the scope go on", async () => {
    const before = AbortSignal.abort(new RangeError("already over"));
    await expect(runtimeContext.run({ signal: before }, () => seeUser())).rejects.toThrow("already over");
    expect(await seeUser()).toBe("nobody");
  });

  test("a dispatchTimeout is carried into nested calls, and `with` wins over it", async () => {
    // The thread is kept busy until the nested call's time is over: it cannot be accepted before.
    const callThenBlock = routine(async () => {
      const nested = seeUser().catch((error: unknown) => error);
      const end = performance.now() + 30;
      while (performance.now() < end);
      return await nested;
    });
    const patient = callThenBlock.with({ dispatchTimeout: 60_000 });
    expect(await runtimeContext.run({ dispatchTimeout: 1 }, () => patient())).toBeInstanceOf(TaskTimeout);
    expect(await patient()).toBe("nobody");
  });

  test("refuses what is not an option", () => {
    expect(() => runtimeContext.run({ timeout: 5 } as object, () => 1)).toThrow(InvalidArgument);
    expect(() => runtimeContext.run({ dispatchTimeout: -1 }, () => 1)).toThrow(/dispatchTimeout/);
  });
});
