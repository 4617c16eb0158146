import { basename } from "node:path";
import { pid } from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  currentTask,
  events,
  routine,
  SerializationError,
  type Serializer,
  TaskCancelled,
  TaskTimeout,
  WorkerPool,
} from "wool-ts";
import { collect } from "../../support/collect.ts";
import { poolOf } from "../../support/pool-of.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";
import { note, notesOf, openDoor, waitAtDoor } from "../../support/worker-notes.ts";

const add = routine(async (x: number, y: number) => x + y);
const addSync = routine((x: number, y: number) => x + y);
const whereabouts = routine(async () => process.pid);
const keep = routine(async (value: object) => value);
const failSync = routine((message: string): never => {
  throw new RangeError(message);
});
const count = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield [i, process.pid];
  return "end";
});
describe("inside a pool", () => {
  let pool: WorkerPool;
  let workerPid: number | undefined;

  beforeAll(async () => {
    pool = await poolOf(1);
    workerPid = [...pool.workers.values()][0]?.pid;
  });
  afterAll(async () => {
    await pool.stop();
  });

  const readNotes = routine(async (key: string) => notesOf(key));
  const open = routine(async (key: string) => openDoor(key));
  const nameOfTask = routine(async function nameOfTask() {
    return currentTask()?.name;
  });

  test("asynchronous and synchronous functions run on a worker", async () => {
    expect(await whereabouts()).toBe(workerPid);
    expect(await add(1, 2)).toBe(3);
    expect(await addSync(3, 4)).toBe(7);
    await expect(failSync("there")).rejects.toThrow(new RangeError("there"));
  });

  test("a call is dispatched when it is made, not when it is awaited", async () => {
    const mark = routine(async (key: string) => {
      note(key, "ran");
      await waitAtDoor(key);
      return "done";
    });
    const pending = mark("eager");
    await until(async () => (await readNotes("eager")).length === 1, "the task has been run");
    await open("eager");
    expect(await pending).toBe("done");
  });

  test("arguments are what they were when the call was made", async () => {
    const list = [1, 2];
    const pending = keep(list);
    list.push(3);
    expect(await pending).toEqual([1, 2]);
  });

  test("arguments and results are copies", async () => {
    const original = { inner: { list: [1] } };
    const change = routine(async (value: typeof original) => {
      value.inner.list.push(2);
      return value;
    });
    const changed = await change(original);
    expect(changed).toEqual({ inner: { list: [1, 2] } });
    expect(original).toEqual({ inner: { list: [1] } });
    expect(await keep(original)).not.toBe(original);
  });

  test("no arguments, many, and missing ones arrive as they are", async () => {
    const lengthOf = routine(async (...args: unknown[]) => [args.length, args]);
    expect(await lengthOf()).toEqual([0, []]);
    expect(await lengthOf(undefined)).toEqual([1, [undefined]]);
    expect(await lengthOf(1, undefined, null)).toEqual([3, [1, undefined, null]]);
    const withDefault = routine(async (x: number = 5, { y = 6 }: { y?: number } = {}) => [x, y]);
    expect(await withDefault()).toEqual([5, 6]);
    expect(await withDefault(1, { y: 2 })).toEqual([1, 2]);
  });

  test("promises and other thenables are awaited before they travel", async () => {
    const promised = routine((x: number) => Promise.resolve(x + 1));
    expect(await promised(1)).toBe(2);
    const thenable = routine((x: number) => {
      const then = (resolve: (value: number) => void): void => resolve(x + 1);
      // oxlint-disable-next-line unicorn/no-thenable -- a thenable that is no promise is the point
      return { then } as PromiseLike<number> as Promise<number>;
    });
    expect(await thenable(1)).toBe(2);
    const nothing = routine(async () => undefined);
    expect(await nothing()).toBeUndefined();
  });

  test("what a function uses from its module travels with it", async () => {
    const factor = 3;
    const scale = (x: number): number => x * factor;
    const scaled = routine(async (x: number) => scale(x));
    expect(await scaled(5)).toBe(15);
    const nameOf = routine(async (path: string) => basename(path));
    expect(await nameOf("/a/b.txt")).toBe("b.txt");
  });

  test("import() inside resolves as in its file, and says why when the worker cannot load a module", async () => {
    const load = routine(async (what: "module" | "package") => {
      const found: object =
        what === "module" ? await import("../../fixtures/greeting.mjs" as string) : await import("acorn");
      return Object.keys(found).includes(what === "module" ? "greet" : "parse");
    });
    expect([await load("module"), await load("package")]).toEqual([true, true]);
    const loadView = routine(async () => Object.keys(await import("../../fixtures/references/view.tsx" as string)));
    expect(await loadView()).toEqual(["view"]);
    const loadText = routine(async () => Object.keys(await import("../../../README.md" as string)));
    await expect(loadText()).rejects.toThrow(
      /^import\(".*README\.md"\) runs in Node\.js itself.*workerOptions\.execArgv/,
    );
  });

  test("what it imports from a built-in module is the worker's own there, values included", async () => {
    const idOfProcess = routine(async () => [pid, process.pid]);
    expect(await idOfProcess()).toEqual([workerPid, workerPid]);
  });

  test("a variable that is set anew between calls is seen with its new value, and never set from there", async () => {
    let step = 1;
    const next = routine(async (x: number) => x + step++);
    expect(await next(1)).toBe(2);
    expect(step).toBe(1);
    step = 10;
    expect(await next(1)).toBe(11);
    expect(await next(1)).toBe(11);
  });

  test("functions and routines can be arguments", async () => {
    const apply = routine(async (fn: (x: number) => number | Promise<number>, x: number) => await fn(x));
    expect(await apply((x) => x * 7, 6)).toBe(42);
    expect(await apply((x) => add(x, 1), 6)).toBe(7);
    const triple = routine(async (x: number) => x * 3);
    expect(await apply(triple, 5)).toBe(15);
  });

  test("a routine made of a routine is the same function", async () => {
    const again = routine(add, { name: "again" });
    expect(await again(1, 2)).toBe(3);
  });

  test("a generator function that was bound is a generator", async () => {
    async function* range(from: number, to: number) {
      for (let i = from; i < to; i++) yield [i, process.pid];
    }
    const bound = routine(range.bind(null, 5));
    const worker = await whereabouts();
    expect(await collect(bound(7))).toEqual([
      [5, worker],
      [6, worker],
    ]);
    expect(await collect(bound.local(6))).toEqual([[5, pid]]);
  });

  test("names and lengths are those of the function", () => {
    const named = routine(async function tally(a: number, b: number) {
      return a + b;
    });
    expect([named.name, named.length]).toEqual(["tally", 2]);
    expect(routine(async () => 1, { name: "given" }).name).toBe("given");
  });

  describe("a function without a name", () => {
    const ownName = routine(async () => currentTask()?.name);
    const viaAnother = routine(async () => [currentTask()?.name, await ownName(), ownName.name]);
    const apply = routine(async (given: () => Promise<unknown>) => [given.name, await given()]);

    test("is known by the name that the source gives to its routine", async () => {
      expect(await ownName()).toBe("ownName");
      expect(ownName.name).toBe("ownName");
      expect(await routine(async () => currentTask()?.name)()).toMatch(/^anonymous at routines\.test\.ts:\d+$/);
      const letters = routine(async function* () {
        yield currentTask()?.tag;
      });
      expect((await collect(letters()))[0]).toMatch(/^letters@/);
    });

    test("keeps it on the worker, for what it calls and what is passed to it", async () => {
      expect(await viaAnother()).toEqual(["viaAnother", "ownName", "ownName"]);
      const passed = routine(async () => currentTask()?.name);
      expect(await apply(passed)).toEqual(["passed", "passed"]);
    });

    test("keeps its own name, which is none", async () => {
      const fn = [async () => 1][0] ?? expect.unreachable();
      const nameless = routine(fn);
      const nameOf = routine(async (given: () => unknown) => given.name);
      expect([await nameless(), fn.name, await nameOf(fn)]).toEqual([1, "", ""]);
    });

    test("is called so in errors", async () => {
      const endless = routine(async (key: string) => await waitAtDoor(key), { timeout: 20 });
      await expect(endless("never")).rejects.toThrow(/^endless did not end within its timeout of 20 ms/);
      const socket = new WeakRef({});
      const holdsOn = routine(async () => socket);
      await expect(holdsOn()).rejects.toThrow(/holdsOn -> socket/);
      await expect(ownName.with({ name: "given" })()).resolves.toBe("given");
    });
  });

  describe("local", () => {
    test("never dispatches", async () => {
      expect(await whereabouts.local()).toBe(process.pid);
      const value = {};
      expect(await keep.local(value)).toBe(value);
      expect(await collect(count.local(1))).toEqual([[0, process.pid]]);
      await expect(failSync.local("here")).rejects.toThrow(RangeError);
    });
  });

  describe("with", () => {
    test("changes a call and leaves the routine as it was", async () => {
      const renamed = nameOfTask.with({ name: "other" });
      expect(await renamed()).toBe("other");
      expect(await nameOfTask()).toBe("nameOfTask");
      expect(await renamed.with({ name: "third" })()).toBe("third");
      expect(await renamed.local()).toBeUndefined();
    });

    test("adds to what was given before", async () => {
      const look = routine(async () => [currentTask()?.name, currentTask()?.deadline !== undefined], {
        timeout: 60_000,
      });
      expect(await look.with({ name: "both" })()).toEqual(["both", true]);
      const chained = add
        .with({ timeout: 60_000 })
        .with({ key: "k", idempotent: true, ship: "value", dispatchTimeout: 60_000 });
      expect(await chained(1, 1)).toBe(2);
    });

    test("limits the time of a call", async () => {
      const forever = routine(async (key: string) => await waitAtDoor(key), { name: "forever" });
      const error = await forever
        .with({ timeout: 20 })("never")
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(TaskTimeout);
      expect(error).toMatchObject({ code: "WOOL_TASK_TIMEOUT", message: expect.stringContaining("forever") });
      expect(await add.with({ timeout: 60_000 })(1, 2)).toBe(3);
    });

    test("works on generators", async () => {
      const letters = routine(async function* () {
        yield currentTask()?.name;
      });
      expect(await collect(letters.with({ name: "letters" })())).toEqual(["letters"]);
    });
  });

  describe("a serializer of the routine's own", () => {
    const json: Serializer = {
      dumps: (value) => Buffer.from(JSON.stringify(value) ?? "null", "utf8"),
      loads: (bytes) => JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown,
    };
    /** Throws at what JSON does not know. */
    const strict: Serializer = { ...json, dumps: (value) => Buffer.from(JSON.stringify(value), "utf8") };
    const when = new Date(0);

    test("is used for arguments and results", async () => {
      const typeOf = routine(async (value: unknown) => [typeof value, new Date(0)], { serializer: json });
      expect(await typeOf(when)).toEqual(["string", "1970-01-01T00:00:00.000Z"]);
      const plain = routine(async (value: unknown) => [typeof value, new Date(0)]);
      expect(await plain(when)).toEqual(["object", when]);
      expect(await plain.with({ serializer: json })(when)).toEqual(["string", "1970-01-01T00:00:00.000Z"]);
    });

    test("is used for yielded, sent and thrown values", async () => {
      const echo = routine(
        async function* (): AsyncGenerator<unknown, void, unknown> {
          const sent: unknown = yield new Date(0);
          yield typeof sent;
          // oxlint-disable-next-line no-throw-literal -- a value of any kind can be thrown
          throw { at: new Date(0) };
        },
        { serializer: json },
      );
      const stream = echo();
      expect((await stream.next()).value).toBe("1970-01-01T00:00:00.000Z");
      expect((await stream.next(when)).value).toBe("string");
      await expect(stream.next()).rejects.toEqual({ at: "1970-01-01T00:00:00.000Z" });
    });

    test.each([
      ["a string", '"text"', () => "text"],
      ["nothing", "undefined", () => undefined],
      ["an ArrayBuffer", "an ArrayBuffer", () => new ArrayBuffer(8)],
      ["a promise", "a Promise", async () => new Uint8Array(8)],
    ])("that makes %s of arguments is refused, and other calls go on", async (_name, shown, dumps) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may give
      const serializer = { ...json, dumps } as unknown as Serializer;
      const echo = routine(async (value: unknown) => value);
      const error = await reasonOf(echo.with({ serializer })(1));
      expect(error).toBeInstanceOf(SerializationError);
      expect(error).toMatchObject({ path: "args", message: expect.stringContaining(`returned ${shown}.`) });
      expect(await echo(2)).toBe(2);
    });

    test("has nothing to do with what is undefined", async () => {
      const nothing = routine(async (): Promise<unknown> => undefined, { serializer: strict });
      expect(await nothing()).toBeUndefined();
      const endless = routine(
        async function* (): AsyncGenerator<unknown, void, unknown> {
          for (;;) yield undefined;
        },
        { serializer: strict },
      );
      for await (const value of endless()) {
        expect(value).toBeUndefined();
        break;
      }
      await until(() => pool.stats().inFlight === 0, "the generator has ended");
    });

    test("has nothing to do with the errors of the runtime", async () => {
      const sleep = routine(async (): Promise<void> => await new Promise(() => undefined), { serializer: strict });
      await expect(sleep.with({ timeout: 20 })()).rejects.toBeInstanceOf(TaskTimeout);
      const own = await WorkerPool.start({ size: 1 });
      let isStarted = false;
      // Left behind, it would change how calls of the tests after this one travel.
      using _events = events.on("task-started", () => {
        isStarted = true;
      });
      const stopped = reasonOf(own.dispatch(sleep));
      await until(() => isStarted, "the task has started");
      await own.stop({ timeout: 0 });
      expect(await stopped).toBeInstanceOf(TaskCancelled);
    });

    test("that throws at a result is a SerializationError that says so", async () => {
      const large = routine(async (): Promise<unknown> => 1n, { serializer: strict, name: "large" });
      const error = await reasonOf(large());
      expect(error).toBeInstanceOf(SerializationError);
      expect(error).toMatchObject({ message: expect.stringMatching(/serializer of large could not dump.*BigInt/) });
    });

    test("that makes anything but bytes of a sent value is refused, and the stream goes on", async () => {
      const dumps = (value: unknown): unknown => (Array.isArray(value) ? json.dumps(value) : "text");
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may give
      const serializer = { ...json, dumps } as unknown as Serializer;
      const answers = routine(
        async function* (): AsyncGenerator<unknown, void, unknown> {
          yield yield [1];
        },
        { serializer },
      );
      const stream = answers();
      expect((await stream.next()).value).toEqual([1]);
      expect(await reasonOf(stream.next("sent"))).toMatchObject({ name: "SerializationError", path: "value" });
      expect(await stream.next([2])).toEqual({ done: false, value: [2] });
      expect(await stream.return([3] as never)).toEqual({ done: true, value: [3] });
    });
  });
});
