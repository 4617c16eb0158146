import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routine, WorkerPool } from "wool-ts";
import { collect } from "../../support/collect.ts";
import { poolOf } from "../../support/pool-of.ts";
import { until } from "../../support/until.ts";
import { watch } from "../../support/watch.ts";
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

class Refused extends Error {
  override name = "Refused";
  readonly value: unknown;

  constructor(value: unknown) {
    super(`refused ${String(value)}`);
    this.value = value;
  }
}

const count = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield i;
  return `counted to ${to}`;
});

/** Answers whatever is sent or thrown, and writes down each thing it does. */
const converse = routine(async function* (key: string) {
  note(key, process.pid);
  let answer: unknown = "ready";
  try {
    for (;;) {
      try {
        const sent: unknown = yield answer;
        note(key, sent);
        answer = ["sent", sent];
      } catch (error) {
        if (error instanceof RangeError) return "gave up";
        if (!(error instanceof Refused)) throw error;
        answer = ["caught", error.value];
      }
    }
  } finally {
    note(key, "finally");
  }
});

const naturals = routine(async function* (key: string) {
  try {
    for (let i = 0; ; i++) {
      note(key, i);
      yield i;
    }
  } finally {
    await Promise.resolve();
    note(key, "finally");
  }
});

test.each([0, 1, 2, 50])("a generator with %i yields gives them all in order", async (yields) => {
  expect(await collect(count(yields))).toEqual(Array.from({ length: yields }, (_, i) => i));
});

test("the return value arrives with done, and then nothing more", async () => {
  const stream = count(1);
  expect(await stream.next()).toEqual({ done: false, value: 0 });
  expect(await stream.next()).toEqual({ done: true, value: "counted to 1" });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(await stream.return("again")).toEqual({ done: true, value: "again" });
  await expect(stream.throw(new Refused(1))).rejects.toBeInstanceOf(Refused);
});

test("nothing is dispatched before the first next", async () => {
  const key = randomUUID();
  const stream = converse(key);
  expect(await readNotes(key)).toEqual([]);
  await stream.next();
  const [pid] = await readNotes(key);
  expect(pid).toBe([...pool.workers.values()][0]?.pid);
  await stream.return("done");
});

test("what is sent with next comes back in order", async () => {
  const stream = converse(randomUUID());
  expect(await stream.next()).toEqual({ done: false, value: "ready" });
  for (const value of ["a", { b: [1] }, undefined, null, 5n]) {
    expect(await stream.next(value)).toEqual({ done: false, value: ["sent", value] });
  }
  await stream.return("done");
});

test("a throw that the generator catches is answered, and the stream goes on", async () => {
  const stream = converse(randomUUID());
  await stream.next();
  expect(await stream.throw(new Refused(7))).toEqual({ done: false, value: ["caught", 7] });
  expect(await stream.next(8)).toEqual({ done: false, value: ["sent", 8] });
  await stream.return("done");
});

test("a throw that the generator does not catch comes back as itself and ends the stream", async () => {
  const key = randomUUID();
  const stream = converse(key);
  await stream.next();
  const thrown = await stream.throw(new TypeError("not for you")).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(TypeError);
  expect(thrown).toMatchObject({ message: "not for you" });
  expect(await readNotes(key)).toContain("finally");
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("a throw can make the generator return", async () => {
  const stream = converse(randomUUID());
  await stream.next();
  expect(await stream.throw(new RangeError("enough"))).toEqual({ done: true, value: "gave up" });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("return runs the remote finally and waits for it", async () => {
  const key = randomUUID();
  const slowToClose = routine(async function* (name: string) {
    try {
      yield 1;
    } finally {
      note(name, "closing");
      await waitAtDoor(name);
      note(name, "closed");
    }
  });
  const stream = slowToClose(key);
  await stream.next();
  const returned = watch(stream.return());
  await until(async () => (await readNotes(key)).includes("closing"), "the finally block is entered");
  expect(returned.settled).toBe(false);
  await open(key);
  expect(await returned.promise).toEqual({ done: true, value: undefined });
  expect(await readNotes(key)).toEqual(["closing", "closed"]);
});

test("return hands its value back, unless the finally block has another or yields once more", async () => {
  const plain = naturals(randomUUID());
  await plain.next();
  expect(await (plain as AsyncGenerator).return("mine")).toEqual({ done: true, value: "mine" });
  const stubborn = routine(async function* () {
    try {
      yield "first";
    } finally {
      yield "one more";
      // oxlint-disable-next-line no-unsafe-finally -- what a return in a finally block does is the point
      return "its own";
    }
  });
  const stream = stubborn();
  await stream.next();
  expect(await stream.return("its own")).toEqual({ done: false, value: "one more" });
  expect(await stream.next()).toEqual({ done: true, value: "its own" });
});

test("breaking out of a loop runs the remote finally before the loop is left", async () => {
  const key = randomUUID();
  for await (const value of naturals(key)) if (value === 2) break;
  expect(await readNotes(key)).toEqual([0, 1, 2, "finally"]);
});

test("a stream is async disposable", async () => {
  const key = randomUUID();
  {
    await using stream = naturals(key);
    await stream.next();
  }
  expect(await readNotes(key)).toEqual([0, "finally"]);
});

test("an infinite generator consumed partly executes only those steps", async () => {
  const key = randomUUID();
  const stream = naturals(key);
  for (let i = 0; i < 5; i++) expect(await stream.next()).toEqual({ done: false, value: i });
  for (let look = 0; look < 3; look++) expect(await readNotes(key)).toEqual([0, 1, 2, 3, 4]);
  await (stream as AsyncGenerator).return(undefined);
});

test("concurrent steps queue as in a local generator and never overlap", async () => {
  const key = randomUUID();
  const sum = routine(async function* (name: string) {
    let total = 0;
    for (;;) {
      const added: number = yield total;
      note(name, "in");
      await new Promise((resolve) => setImmediate(resolve));
      total += added;
      note(name, "out");
    }
  });
  const stream = sum(key);
  const steps = await Promise.all([stream.next(0), stream.next(1), stream.next(2), stream.next(3)]);
  expect(steps.map(({ value }) => value)).toEqual([0, 1, 3, 6]);
  expect(await readNotes(key)).toEqual(["in", "out", "in", "out", "in", "out"]);
  await stream.return(undefined as never);
});

test("a return queued behind steps waits for its turn, and steps after it find the stream over", async () => {
  const key = randomUUID();
  const stream: AsyncGenerator<number, unknown, unknown> = naturals(key);
  const results = await Promise.all([stream.next(), stream.next(), stream.return("stop"), stream.next()]);
  expect(results).toEqual([
    { done: false, value: 0 },
    { done: false, value: 1 },
    { done: true, value: "stop" },
    { done: true, value: undefined },
  ]);
  expect(await readNotes(key)).toEqual([0, 1, "finally"]);
});

test("an exception after some yields arrives after them, as what was thrown", async () => {
  const failing = routine(async function* () {
    yield 1;
    yield 2;
    throw new Refused(3);
  });
  const stream = failing();
  expect((await stream.next()).value).toBe(1);
  expect((await stream.next()).value).toBe(2);
  const thrown = await stream.next().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(Refused);
  expect(thrown).toMatchObject({ name: "Refused", message: "refused 3", value: 3 });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("return and throw before the first next dispatch nothing", async () => {
  const key = randomUUID();
  const returned = converse(key);
  expect(await returned.return("early")).toEqual({ done: true, value: "early" });
  expect(await returned.next()).toEqual({ done: true, value: undefined });
  const error = new Refused("early");
  const thrown = converse(key);
  await expect(thrown.throw(error)).rejects.toBe(error);
  expect(await thrown.next()).toEqual({ done: true, value: undefined });
  expect(await readNotes(key)).toEqual([]);
});

test("streams side by side do not mix", async () => {
  const streams = Array.from({ length: 20 }, (_, i) => collect(count(i)));
  expect((await Promise.all(streams)).map((items) => items.length)).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

test("a stream dropped without closing is closed when its pool is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "wool-streams-"));
  try {
    const file = join(folder, "closed");
    const dropped = routine(async function* (path: string) {
      try {
        yield 1;
      } finally {
        writeFileSync(path, "closed");
      }
    });
    const own = await WorkerPool.start({ size: 1 });
    await own.dispatch(dropped, file).next();
    expect(existsSync(file)).toBe(false);
    await own.stop();
    expect(readFileSync(file, "utf8")).toBe("closed");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a value sent before the stream is open is sent as it was then, and refused at once if it cannot travel", async () => {
  const answers = routine(async function* (): AsyncGenerator<unknown, void, unknown> {
    let sent: unknown = yield "first";
    for (;;) sent = yield sent;
  });
  const stream = answers();
  const bytes = new Uint8Array([1, 2, 3]);
  const [first, second, bad] = [stream.next(), stream.next(bytes), stream.next(new WeakRef({}))];
  bytes.fill(0);
  await expect(bad).rejects.toMatchObject({ name: "SerializationError" });
  expect((await first).value).toBe("first");
  expect((await second).value).toEqual(new Uint8Array([1, 2, 3]));
  await stream.return();
});
