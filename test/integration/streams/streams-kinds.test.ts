import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { currentTask, routine, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { note, notesOf } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const readNotes = routine(async (key: string) => notesOf(key));

describe("a synchronous generator", () => {
  const adder = routine(function* (key: string, start: number): Generator<number, string, number> {
    note(key, process.pid);
    let total = start;
    try {
      for (;;) {
        try {
          total += yield total;
        } catch (error) {
          if (error instanceof RangeError) return `stopped at ${total}`;
          if (error instanceof TypeError) throw error;
          total = 0;
        }
      }
    } finally {
      note(key, "finally");
    }
  });

  test("runs remotely, one step for each next, and gets what is sent", async () => {
    const key = randomUUID();
    const stream = adder(key, 10);
    expect(await readNotes(key)).toEqual([]);
    expect(await stream.next(0)).toEqual({ done: false, value: 10 });
    expect(await stream.next(5)).toEqual({ done: false, value: 15 });
    expect(await stream.next(-1)).toEqual({ done: false, value: 14 });
    expect(await stream.return("over")).toEqual({ done: true, value: "over" });
    expect(await readNotes(key)).toEqual([[...pool.workers.values()][0]?.pid, "finally"]);
  });

  test("answers a throw, returns for one, and fails with one", async () => {
    const key = randomUUID();
    const answering = adder(key, 3);
    await answering.next(0);
    expect(await answering.throw(new Error("reset"))).toEqual({ done: false, value: 0 });
    expect(await answering.throw(new RangeError("stop"))).toEqual({ done: true, value: "stopped at 0" });
    const failing = adder(key, 3);
    await failing.next(0);
    await expect(failing.throw(new TypeError("bad"))).rejects.toThrow(TypeError);
    expect(await failing.next(1)).toEqual({ done: true, value: undefined });
  });

  test("is closed by leaving a loop early", async () => {
    const key = randomUUID();
    const letters = routine(function* (name: string) {
      try {
        yield "a";
        yield "b";
        yield "c";
      } finally {
        note(name, "closed");
      }
    });
    const seen: string[] = [];
    for await (const letter of letters(key)) {
      seen.push(letter);
      if (letter === "b") break;
    }
    expect(seen).toEqual(["a", "b"]);
    expect(await readNotes(key)).toEqual(["closed"]);
  });

  test("may run ahead", async () => {
    const squares = routine(
      function* (to: number) {
        for (let i = 0; i < to; i++) yield i * i;
        return "end";
      },
      { prefetch: 5 },
    );
    const seen: number[] = [];
    for await (const square of squares(40)) seen.push(square);
    expect(seen).toEqual(Array.from({ length: 40 }, (_, i) => i * i));
  });
});

test("a generator delegates to others and passes everything through", async () => {
  const inner = async function* (): AsyncGenerator<string, string, string> {
    try {
      const got = yield "inner";
      return `inner got ${got}`;
    } catch (error) {
      return `inner caught ${String(error)}`;
    }
  };
  const outer = routine(async function* (): AsyncGenerator<string, string, string> {
    const first = yield* inner();
    yield first;
    const second = yield* inner();
    return second;
  });
  const stream = outer();
  expect(await stream.next("ignored")).toEqual({ done: false, value: "inner" });
  expect(await stream.next("hello")).toEqual({ done: false, value: "inner got hello" });
  expect(await stream.next("ignored")).toEqual({ done: false, value: "inner" });
  expect(await stream.throw(new Error("no"))).toEqual({ done: true, value: "inner caught Error: no" });
});

test("all steps of a stream belong to one task, and other tasks to others", async () => {
  const ids = routine(async function* () {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      yield currentTask()?.id;
    }
  });
  const [one, other] = [ids(), ids()];
  const seen: unknown[] = [];
  for (let i = 0; i < 3; i++) seen.push((await one.next()).value, (await other.next()).value);
  await Promise.all([one, other].map((stream) => (stream as AsyncGenerator).return(undefined)));
  const [first, second] = seen;
  expect(first).toBeTypeOf("string");
  expect(first).not.toBe(second);
  expect(seen).toEqual([first, second, first, second, first, second]);
});

/** On one machine large values may take a short cut; over TCP they go in chunks. */
describe.each([
  ["a unix socket", {}],
  ["TCP", { host: "127.0.0.1" }],
])("large values over %s", (_name, workerOptions) => {
  const MEGABYTE = 1024 * 1024;
  let own: WorkerPool;

  beforeAll(async () => {
    own = await WorkerPool.start({ size: 1, workerOptions });
  });
  afterAll(async () => {
    await own.stop();
  });

  function patterned(bytes: number, seed: number): Uint8Array {
    const data = new Uint8Array(bytes);
    for (let i = 0; i < bytes; i += 997) data[i] = (i + seed) % 251;
    return data;
  }

  const blocks = routine(async function* (key: string, amount: number, bytes: number) {
    for (let i = 0; i < amount; i++) {
      note(key, i);
      yield patterned(bytes, i);
    }
    return patterned(bytes, amount);
  });

  test.each([0, 2])("are yielded and returned whole and in order with a prefetch of %i", async (prefetch) => {
    const stream = blocks.with({ prefetch })(randomUUID(), 3, 3 * MEGABYTE);
    for (let i = 0; i < 3; i++) {
      const { done, value } = await stream.next();
      expect(done).toBe(false);
      expect(Buffer.compare(value, patterned(3 * MEGABYTE, i))).toBe(0);
    }
    const { done, value } = await stream.next();
    expect(done).toBe(true);
    expect(Buffer.compare(value ?? new Uint8Array(), patterned(3 * MEGABYTE, 3))).toBe(0);
  });

  test("that are thrown away by an early return do not disturb what comes after", async () => {
    const key = randomUUID();
    const stream: AsyncGenerator<Uint8Array, unknown, unknown> = blocks.with({ prefetch: 2 })(key, 100, 2 * MEGABYTE);
    await stream.next();
    expect(await stream.return("enough")).toEqual({ done: true, value: "enough" });
    expect((await readNotes(key)).length).toBeLessThanOrEqual(3);
  });

  test("are sent and thrown into a generator", async () => {
    const measure = routine(async function* (): AsyncGenerator<[number, number], void, Uint8Array> {
      let given: Uint8Array = new Uint8Array();
      for (;;) {
        try {
          given = yield [given.length, given.reduce((sum, byte) => sum + byte, 0)];
        } catch (error) {
          given = error as Uint8Array;
        }
      }
    });
    const data = patterned(2 * MEGABYTE, 1);
    const sum = data.reduce((total, byte) => total + byte, 0);
    const stream = measure();
    await stream.next(data);
    expect(await stream.next(data)).toEqual({ done: false, value: [data.length, sum] });
    expect(await stream.throw(patterned(MEGABYTE, 0))).toMatchObject({ value: [MEGABYTE, expect.any(Number)] });
    expect(await stream.next(data)).toEqual({ done: false, value: [data.length, sum] });
    await stream.return();
  });

  test("a small step queued behind a large one keeps its place", async () => {
    const order = routine(async function* (): AsyncGenerator<number, void, Uint8Array> {
      let length = -1;
      for (;;) length = (yield length).length;
    });
    const stream = order();
    await stream.next(new Uint8Array());
    const answers = await Promise.all(
      [4 * MEGABYTE, 1, 2 * MEGABYTE, 2].map((size) => stream.next(new Uint8Array(size))),
    );
    expect(answers.map(({ value }) => value)).toEqual([4 * MEGABYTE, 1, 2 * MEGABYTE, 2]);
    await stream.return();
  });
});
