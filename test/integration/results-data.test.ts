import { afterAll, beforeAll, expect, test } from "vitest";
import { InvalidArgument, routine, SerializationError, WorkerPool, WorkerProxy } from "wool-ts";
import { poolOf } from "../support/pool-of.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1, { results: "data" });
});
afterAll(async () => {
  await pool.stop();
});

class Point {
  readonly x: number;

  constructor(x: number) {
    this.x = x;
  }

  moved(): Point {
    return new Point(this.x + 1);
  }
}

class OutOfRange extends RangeError {
  override name = "OutOfRange";
}

async function reasonOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => "it was accepted",
    (error: unknown) => error,
  );
}

async function expectRefused(call: Promise<unknown>, path: string, message: RegExp): Promise<void> {
  const error = await reasonOf(call);
  expect(error).toBeInstanceOf(SerializationError);
  expect(error).toMatchObject({ path, message: expect.stringMatching(message) });
}

/** A class that only the worker has, and an instance of it. */
const makeStranger = (): object => {
  class Stranger {
    readonly secret = 1;
  }
  return new Stranger();
};

test("data, instances of the caller's classes and its errors arrive as ever", async () => {
  const move = routine(async (point: Point) => ({ moved: point.moved(), at: new Date(5), list: new Set([1]) }));
  const { moved, at, list } = await move(new Point(1));
  expect(moved).toBeInstanceOf(Point);
  expect([moved.moved().x, at, list]).toEqual([3, new Date(5), new Set([1])]);
  const fail = routine(async (): Promise<never> => {
    throw new OutOfRange("far");
  });
  expect(await reasonOf(fail())).toBeInstanceOf(OutOfRange);
});

test("functions and instances of unknown classes are refused: returned, yielded and thrown", async () => {
  const giveFunction = routine(async () => ({ run: () => 1 }));
  await expectRefused(giveFunction(), "result", /giveFunction sent back a value that holds a function/);
  const giveStranger = routine(async () => [makeStranger()]);
  await expectRefused(giveStranger(), "result", /holds an instance of Stranger, a class that is not known here/);
  const steps = routine(async function* () {
    yield 1;
    yield () => 2;
  })();
  expect((await steps.next()).value).toBe(1);
  await expectRefused(steps.next(), "yielded", /holds a function/);
  const fail = routine(async (): Promise<never> => {
    throw Object.assign(new Error("e"), { stranger: makeStranger() });
  });
  await expectRefused(fail(), "error", /Stranger/);
  expect(await routine(async () => "the pool goes on")()).toBe("the pool goes on");
});

test("for one routine or call, in a pool that accepts everything", async () => {
  const open = await poolOf(1);
  try {
    const give = routine(async () => () => 1);
    expect((await open.dispatch(give))()).toBe(1);
    await expectRefused(give.with({ pool: open, results: "data" })(), "result", /holds a function/);
    const strict = routine(async () => () => 1, { results: "data" });
    await expectRefused(strict.with({ pool: open })(), "result", /holds a function/);
  } finally {
    await open.stop();
  }
});

test("for all calls of a proxy", async () => {
  const open = await poolOf(1);
  try {
    await using proxy = new WorkerProxy({ workers: [...open.workers.values()], results: "data" });
    const give = routine(async (isData: boolean) => (isData ? 1 : () => 1));
    expect(await give.with({ pool: proxy })(true)).toBe(1);
    await expectRefused(give.with({ pool: proxy })(false), "result", /holds a function/);
  } finally {
    await open.stop();
  }
});

test("any other value of the option is refused", async () => {
  expect(() => routine(async () => 1, { results: "code" as "data" })).toThrow(InvalidArgument);
  await expect(WorkerPool.start({ size: 1, results: true as unknown as "data" })).rejects.toThrow(InvalidArgument);
});
