import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ContextVar,
  currentTask,
  InvalidArgument,
  NoWorkersAvailable,
  PoolClosed,
  type Progress,
  routine,
  runtimeContext,
  TaskTimeout,
  WorkerPool,
} from "wool-ts";
import { collect } from "../../support/collect.ts";
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

const double = routine(async (value: number) => value * 2);
const readNotes = routine(async (key: string) => notesOf(key));
const open = routine(async (key: string) => openDoor(key));

/** Waits for the door that its item names, if it names one. */
const afterDoor = routine(async (item: { name: string; door?: string }) => {
  if (item.door !== undefined) await waitAtDoor(item.door);
  return item.name;
});

const evenOnly = routine(async (item: { key: string; value: number }) => {
  note(item.key, item.value);
  if (item.value % 2 === 1) throw new RangeError(`odd: ${item.value}`);
  return item.value;
});

function* numbers(to: number, read: number[] = []): Generator<number> {
  for (let i = 0; i < to; i++) {
    read.push(i);
    yield i;
  }
}

function* mapped<T, R>(items: Iterable<T>, change: (item: T) => R): Generator<R> {
  for (const item of items) yield change(item);
}

test("results come in the order of the items", async () => {
  expect(await collect(pool.map(double, [3, 1, 2]))).toEqual([6, 2, 4]);
  expect(await collect(pool.map(double, []))).toEqual([]);
  expect(await collect(pool.map(double, new Set([5, 6])))).toEqual([10, 12]);
  expect(await collect(pool.map(double, numbers(500)))).toEqual(Array.from({ length: 500 }, (_, i) => i * 2));
});

test("asynchronous sources are read as they come", async () => {
  const source = async function* (): AsyncGenerator<number> {
    for (let i = 0; i < 10; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      yield i;
    }
  };
  expect(await collect(pool.map(double, source(), { concurrency: 3 }))).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
});

test("an ordered map waits for a slow item, an unordered one gives what is ready", async () => {
  const [ordered, unordered] = [randomUUID(), randomUUID()];
  const items = (door: string) => [{ name: "slow", door }, { name: "a" }, { name: "b" }];
  const first = pool.map(afterDoor, items(unordered), { ordered: false })[Symbol.asyncIterator]();
  const early = [(await first.next()).value, (await first.next()).value];
  expect(early.sort()).toEqual(["a", "b"]);
  await open(unordered);
  expect(await first.next()).toEqual({ done: false, value: "slow" });
  expect(await first.next()).toEqual({ done: true, value: undefined });
  const results = collect(pool.map(afterDoor, items(ordered)));
  await until(() => pool.stats().inFlight === 1, "only the slow one is left");
  await open(ordered);
  expect(await results).toEqual(["slow", "a", "b"]);
});

test("calls keep to the options of with(), as far as those of the map say nothing else", async () => {
  const never = routine(async (_item: number) => await new Promise<never>(() => undefined));
  await expect(collect(pool.map(never.with({ timeout: 20 }), [1]))).rejects.toBeInstanceOf(TaskTimeout);
  const needy = never.with({ needs: ["a tag that nobody has"] });
  await expect(collect(pool.map(needy, [1]))).rejects.toBeInstanceOf(NoWorkersAvailable);
  const signal = AbortSignal.abort(new RangeError("enough"));
  await expect(collect(pool.map(double.with({ signal }), [1]))).rejects.toThrow("enough");
  const key = routine(async (_item: number) => currentTask()?.key);
  expect(await collect(pool.map(key.with({ key: "a" }), [1]))).toEqual(["a"]);
  expect(await collect(pool.map(key.with({ key: "a" }), [1], { key: "b" }))).toEqual(["b"]);
});

describe("concurrency", () => {
  const crowd = routine(async (item: { key: string; number: number }) => {
    note(item.key, item.number);
    await waitAtDoor(`${item.key} ${item.number}`);
    return item.number;
  });

  test.each([true, false])("bounds what is under way and what is read (ordered: %s)", async (ordered) => {
    const key = randomUUID();
    const read: number[] = [];
    const items = mapped(numbers(12, read), (number) => ({ key, number }));
    const results = pool.map(crowd, items, { concurrency: 3, ordered })[Symbol.asyncIterator]();
    const seen: number[] = [];
    for (let done = 0; done < 12; done++) {
      const pending = results.next();
      const expected = Math.min(12, done + 3);
      await until(async () => (await readNotes(key)).length === expected, `${expected} items have been started`);
      expect(read.length).toBe(expected);
      await open(`${key} ${done}`);
      seen.push((await pending).value);
    }
    expect(seen).toEqual([...numbers(12)]);
    expect(await results.next()).toEqual({ done: true, value: undefined });
  });

  test("may be high without a warning from the process", async () => {
    const warnings: string[] = [];
    const collectWarning = (warning: Error): number => warnings.push(warning.message);
    process.on("warning", collectWarning);
    try {
      const results = collect(pool.map(double, numbers(200), { concurrency: 100 }));
      expect(await results).toHaveLength(200);
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("warning", collectWarning);
    }
    expect(warnings).toEqual([]);
  });

  test("nothing is read before the first result is asked for", () => {
    const read: number[] = [];
    const results = pool.map(double, numbers(5, read));
    expect(results[Symbol.asyncIterator]).toBeTypeOf("function");
    expect(read).toEqual([]);
  });
});

test("leaving early stops reading, closes the source, and cancels what is under way", async () => {
  const key = randomUUID();
  let closed = false;
  const read: number[] = [];
  const source = function* (): Generator<{ key: string; number: number }> {
    try {
      for (const number of numbers(1000, read)) yield { key, number };
    } finally {
      closed = true;
    }
  };
  const stoppable = routine(async (item: { key: string; number: number }) => {
    if (item.number < 2) return item.number;
    note(`${item.key} started`, item.number);
    await new Promise<void>((resolve) => {
      currentTask()?.signal.addEventListener("abort", () => resolve());
    });
    note(item.key, item.number);
    return -1;
  });
  const seen: number[] = [];
  for await (const number of pool.map(stoppable, source(), { concurrency: 4 })) {
    seen.push(number);
    if (number !== 1) continue;
    // One that is cancelled before it has been started is not run.
    const started = async () => (await readNotes(`${key} started`)).length;
    await until(async () => (await started()) === read.length - 2, "every task under way has been started");
    break;
  }
  expect(seen).toEqual([0, 1]);
  expect(closed).toBe(true);
  expect(read.length).toBeLessThanOrEqual(6);
  await until(async () => (await readNotes(key)).length === read.length - 2, "every task under way has been cancelled");
  await until(() => pool.stats().inFlight === 0, "nothing is under way");
});

test("progress is told after each item", async () => {
  const progress: Progress[] = [];
  const results = await collect(
    pool.map(double, [1, 2, 3], { concurrency: 1, onProgress: (one) => progress.push(one) }),
  );
  expect(results).toEqual([2, 4, 6]);
  expect(progress.map(({ done, failed, total }) => [done, failed, total])).toEqual([
    [1, 0, 3],
    [2, 0, 3],
    [3, 0, 3],
  ]);
  expect(progress.every(({ inFlight }) => inFlight >= 0 && inFlight <= 1)).toBe(true);
  const unknown: Progress[] = [];
  await collect(pool.map(double, numbers(2), { onProgress: (one) => unknown.push(one) }));
  expect(unknown.map(({ total }) => total)).toEqual([undefined, undefined]);
});

describe("an item that fails", () => {
  test("ends the map with its error by default, after the results before it", async () => {
    const key = randomUUID();
    const read: number[] = [];
    const seen: number[] = [];
    const items = mapped(numbers(100, read), (value) => ({ key, value: value * (value === 6 ? 1.5 : 2) }));
    const mapping = (async () => {
      for await (const value of pool.map(evenOnly, items, { concurrency: 2 })) seen.push(value);
    })();
    await expect(mapping).rejects.toThrow(new RangeError("odd: 9"));
    expect(seen).toEqual([0, 2, 4, 6, 8, 10]);
    expect(read.length).toBeLessThanOrEqual(9);
  });

  test("is left out with stopOnError false, and all failures are thrown at the end", async () => {
    const key = randomUUID();
    const seen: number[] = [];
    const progress: Progress[] = [];
    const items = [...numbers(6)].map((value) => ({ key, value }));
    const mapping = (async () => {
      const options = { stopOnError: false, onProgress: (one: Progress) => progress.push(one) };
      for await (const value of pool.map(evenOnly, items, options)) seen.push(value);
    })();
    const failure: unknown = await mapping.catch((error: unknown) => error);
    expect(seen).toEqual([0, 2, 4]);
    expect(failure).toBeInstanceOf(AggregateError);
    expect((failure as AggregateError).errors.map(String).sort()).toEqual(
      [1, 3, 5].map((odd) => `RangeError: odd: ${odd}`),
    );
    expect(progress.at(-1)).toEqual({ done: 3, failed: 3, inFlight: 0, total: 6 });
    expect([...(await readNotes(key))].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

test("a source that fails ends the map with its error", async () => {
  const source = function* (): Generator<number> {
    yield 1;
    throw new TypeError("no more");
  };
  const seen: number[] = [];
  const mapping = (async () => {
    for await (const value of pool.map(double, source(), { concurrency: 1 })) seen.push(value);
  })();
  await expect(mapping).rejects.toThrow(new TypeError("no more"));
  expect(seen).toEqual([2]);
});

test("call options apply to each call, and a signal ends the map", async () => {
  const controller = new AbortController();
  const key = randomUUID();
  const results = pool.map(afterDoor, [{ name: "a" }, { name: "stuck", door: key }], { signal: controller.signal });
  const iterator = results[Symbol.asyncIterator]();
  expect((await iterator.next()).value).toBe("a");
  const pending = iterator.next();
  controller.abort(new RangeError("enough"));
  await expect(pending).rejects.toThrow("enough");
  await open(key);
});

test.each([
  ["a plain function", async (value: number) => value],
  [
    "a generator routine",
    routine(async function* (value: number) {
      yield value;
    }),
  ],
])("%s is not taken", (_name, fn) => {
  expect(() => pool.map(fn as typeof double, [1])).toThrow(InvalidArgument);
});

test.each([0, 1.5, -1, Number.NaN])("a concurrency of %s is refused", (concurrency) => {
  expect(() => pool.map(double, [1], { concurrency })).toThrow(/concurrency/);
});

test("an unknown option, and items that are none, are refused", () => {
  expect(() => pool.map(double, [1], { concurency: 1 } as object)).toThrow(/concurency.*did you mean "concurrency"/);
  expect(() => pool.map(double, 5 as unknown as number[])).toThrow(InvalidArgument);
});

test("calls see the context that the map was made in, wherever its results are taken", async () => {
  const place = new ContextVar("place", { default: "nowhere" });
  const where = routine(async (item: number) => `${item} ${place.get()}`);
  const results = place.run("here", () => pool.map(where, [1, 2]));
  expect(await collect(results)).toEqual(["1 here", "2 here"]);
  const controller = new AbortController();
  controller.abort(new RangeError("too late"));
  const late = runtimeContext.run({ signal: controller.signal }, () => pool.map(where, [1, 2]));
  await expect(collect(late)).rejects.toThrow("too late");
});

test("stopping the pool ends a map whose source has no more items for now", async () => {
  const other = await poolOf(1);
  async function* quiet(): AsyncGenerator<number> {
    yield 1;
    await new Promise(() => undefined);
  }
  const iterator = other.map(double, quiet())[Symbol.asyncIterator]();
  expect(await iterator.next()).toEqual({ done: false, value: 2 });
  const next = iterator.next();
  const settled = expect(next).rejects.toThrow(PoolClosed);
  await other.stop();
  await settled;
});

test("the stack of a failure leads to where the results are taken", async () => {
  const failing = routine(async (value: number) => {
    throw new RangeError(`not ${value}`);
  });
  async function takeThem(): Promise<void> {
    await collect(pool.map(failing, [1]));
  }
  const error = await takeThem().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RangeError);
  expect((error as Error).stack).toContain("takeThem");
});
