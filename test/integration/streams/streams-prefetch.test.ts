import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { InvalidArgument, routine, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { until } from "../../support/until.ts";
import { note, notesOf } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const readNotes = routine(async (key: string) => notesOf(key));

/** How many notes there are once three looks in a row find the same number, each with a turn of the worker between. */
async function settledSteps(key: string): Promise<number> {
  let steps = -1;
  for (let same = 0; same < 3; ) {
    const found = (await readNotes(key)).length;
    same = found === steps ? same + 1 : 0;
    steps = found;
  }
  return steps;
}

const naturals = routine(async function* (key: string): AsyncGenerator<number, unknown, unknown> {
  try {
    for (let i = 0; ; i++) {
      note(key, i);
      yield i;
    }
  } catch (error) {
    note(key, error instanceof Error ? error.message : error);
    return "caught";
  } finally {
    note(key, "finally");
  }
});

const countUp = routine(
  async function* (to: number) {
    for (let i = 0; i < to; i++) yield i;
    return "end";
  },
  { prefetch: 8 },
);

test.each([1, 3, 10])("with a prefetch of %i the worker runs that far ahead of next and no farther", async (ahead) => {
  const key = randomUUID();
  const stream = naturals.with({ prefetch: ahead })(key);
  expect(await stream.next()).toEqual({ done: false, value: 0 });
  await until(async () => (await readNotes(key)).length >= 1 + ahead, "the worker has run ahead");
  expect(await settledSteps(key)).toBe(1 + ahead);
  for (let taken = 2; taken <= 2 * ahead + 3; taken++) {
    expect(await stream.next()).toEqual({ done: false, value: taken - 1 });
    const steps = await settledSteps(key);
    expect(steps).toBeLessThanOrEqual(taken + ahead);
    expect(steps).toBeGreaterThanOrEqual(taken);
  }
  await stream.return(undefined);
});

test("a worker that runs ahead goes on when values are taken", async () => {
  const key = randomUUID();
  const stream = naturals.with({ prefetch: 4 })(key);
  for (let i = 0; i < 4; i++) await stream.next();
  await until(async () => (await readNotes(key)).length > 5, "steps beyond the first five have been run");
  await stream.return(undefined);
});

test("values and the end arrive in order, whoever is faster", async () => {
  const items: number[] = [];
  const stream = countUp(1000);
  let step = await stream.next();
  for (; step.done !== true; step = await stream.next()) items.push(step.value);
  expect(items).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  expect(step.value).toBe("end");
});

test("many steps asked for at once are answered in order", async () => {
  const stream = countUp(30);
  const steps = await Promise.all(Array.from({ length: 31 }, () => stream.next()));
  expect(steps.slice(0, 30).map(({ value }) => value)).toEqual(Array.from({ length: 30 }, (_, i) => i));
  expect(steps[30]).toEqual({ done: true, value: "end" });
});

test("an early return drops what was fetched, runs the remote finally and stops the worker", async () => {
  const key = randomUUID();
  const stream = naturals.with({ prefetch: 5 })(key);
  await stream.next();
  await until(async () => (await readNotes(key)).length === 6, "the worker has run ahead");
  expect(await stream.return("stop")).toEqual({ done: true, value: "stop" });
  expect(await readNotes(key)).toEqual([0, 1, 2, 3, 4, 5, "finally"]);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("breaking out of a loop over a generator that runs ahead closes it", async () => {
  const key = randomUUID();
  for await (const value of naturals.with({ prefetch: 3 })(key)) if (value === 10) break;
  const notes = await readNotes(key);
  expect(notes.at(-1)).toBe("finally");
  expect(notes.length).toBeLessThanOrEqual(11 + 3 + 1);
});

test("a throw reaches a generator that runs ahead, and its answer is the caller's next result", async () => {
  const key = randomUUID();
  const stream = naturals.with({ prefetch: 2 })(key);
  await stream.next();
  await until(async () => (await readNotes(key)).length === 3, "the worker has run ahead");
  expect(await stream.throw(new Error("enough"))).toEqual({ done: true, value: "caught" });
  expect(await readNotes(key)).toEqual([0, 1, 2, "enough", "finally"]);
});

test("after a throw that the generator catches each step advances it once, however many are asked for at once", async () => {
  const stubborn = routine(async function* (key: string): AsyncGenerator<number | string, void, unknown> {
    for (let i = 0; ; i++) {
      note(key, i);
      try {
        yield i;
      } catch (error) {
        yield `caught ${(error as Error).message}`;
      }
    }
  });
  const key = randomUUID();
  const stream = stubborn.with({ prefetch: 4 })(key);
  expect(await stream.next()).toEqual({ done: false, value: 0 });
  await until(async () => (await readNotes(key)).length === 5, "the worker has run ahead");
  const steps = [
    stream.throw(new Error("one")),
    stream.next(),
    stream.next(),
    stream.throw(new Error("two")),
    stream.next(),
  ];
  expect((await Promise.all(steps)).map(({ value }) => value)).toEqual(["caught one", 5, 6, "caught two", 7]);
  await stream.return(undefined);
});

test("an exception met while running ahead arrives after the values before it", async () => {
  const failing = routine(
    async function* (key: string) {
      yield 1;
      yield 2;
      note(key, "failing");
      throw new RangeError("three");
    },
    { prefetch: 10 },
  );
  const key = randomUUID();
  const stream = failing(key);
  expect((await stream.next()).value).toBe(1);
  await until(async () => (await readNotes(key)).length === 1, "the generator has failed");
  expect((await stream.next()).value).toBe(2);
  await expect(stream.next()).rejects.toThrow(RangeError);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("a return value met while running ahead arrives after the values before it", async () => {
  const key = randomUUID();
  const short = routine(
    async function* (name: string) {
      yield 1;
      yield 2;
      note(name, "returning");
      return 3;
    },
    { prefetch: 10 },
  );
  const stream = short(key);
  expect(await stream.next()).toEqual({ done: false, value: 1 });
  await until(async () => (await readNotes(key)).length === 1, "the generator has returned");
  expect(await stream.next()).toEqual({ done: false, value: 2 });
  expect(await stream.next()).toEqual({ done: true, value: 3 });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("a value cannot be sent to a generator that runs ahead, and saying so changes nothing", async () => {
  const stream = naturals.with({ prefetch: 2 })(randomUUID());
  await stream.next();
  await expect(stream.next("for the past")).rejects.toThrow(InvalidArgument);
  expect(await stream.next()).toEqual({ done: false, value: 1 });
  await stream.return(undefined);
});

test("a generator whose routine prefetches can be called without", async () => {
  const key = randomUUID();
  const eager = routine(
    async function* (name: string) {
      for (let i = 0; ; i++) {
        note(name, i);
        yield i;
      }
    },
    { prefetch: 4 },
  );
  const stream = eager.with({ prefetch: 0 })(key);
  await stream.next();
  expect(await settledSteps(key)).toBe(1);
  await (stream as AsyncGenerator).return(undefined);
});
