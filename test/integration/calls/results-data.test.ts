import { EventEmitter } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InvalidArgument, routine, SerializationError, share, WorkerPool, WorkerProxy } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { errorOf } from "../../support/reason-of.ts";

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

async function expectRefused(call: Promise<unknown>, path: string, message: RegExp): Promise<void> {
  expect(await errorOf(call, SerializationError)).toMatchObject({ path, message: expect.stringMatching(message) });
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
  await errorOf(fail(), OutOfRange);
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

describe("there is no way around it", () => {
  /** The worker has what the caller has, and can name it. */
  const attempts: Record<string, () => unknown> = {
    "a function that something inherits from": () => [Object.create(process.abort), process.abort],
    "one that makes an instance": () => [Object.create(EventEmitter.prototype), EventEmitter],
    "one inside of what is inherited from": () => Object.create({ run: process.abort }),
    "one inside of what an inner value inherits from": () => ({ inner: [Object.create([process.abort])] }),
    "a thenable by its prototype": () => [Object.create({ then: process.abort })],
    "a thenable whose method came before": () => [Object.create(process.abort), { then: process.abort }],
    "an object of the process": () => Object.create(process),
    "a getter": () => ({
      get x() {
        return 1;
      },
    }),
    "the key of a map": () => new Map([[() => 1, 1]]),
    "the key of a weak map": () => {
      const key = {};
      return [key, new WeakMap([[key, () => 1]])];
    },
    "a member of a set": () => new Set([() => 1]),
    "the value of a promise": () => ({ later: Promise.resolve(() => 1) }),
    "an own property of a date": () => Object.assign(new Date(0), { run: () => 1 }),
    "a method of an array": () => Object.assign([1], { map: () => 1 }),
    "a symbol": () => ({ [Symbol.toPrimitive]: () => 1 }),
    "a bound function": () => [Math.max.bind(undefined, 1)],
    "a routine": () => routine(async () => 1),
    "a shared function": () => share(() => 1),
    "a shared object with a function": () => share({ deep: [() => 1] }),
    "a generator function": () => ({
      *run() {
        yield 1;
      },
    }),
    "a class": () => ({ Class: class {} }),
  };

  test.each(Object.keys(attempts))("%s: returned, yielded, thrown and as a cause", async (name) => {
    const attempt = attempts[name];
    const give = routine(async () => attempt?.());
    await expectRefused(give(), "result", /function|object of this process|not known here/);
    const steps = routine(async function* () {
      yield attempt?.();
    })();
    await expectRefused(steps.next(), "yielded", /function|object of this process|not known here/);
    const fail = routine(async () => {
      throw Object.assign(new Error("e"), { with: attempt?.() });
    });
    await expectRefused(fail(), "error", /function|object of this process|not known here/);
    const chain = routine(async () => {
      throw new Error("e", { cause: new AggregateError([attempt?.()]) });
    });
    await expectRefused(chain(), "error", /function|object of this process|not known here/);
  });

  test("why a value cannot travel is told as ever", async () => {
    let made = 0;
    class Own {
      readonly #secret: number;
      constructor() {
        // A constructor that does more than set fields is not run again for an instance that comes back.
        made += 1;
        this.#secret = made;
      }
      get secret(): number {
        return this.#secret;
      }
    }
    const echo = routine(async (value: Own) => value);
    await expectRefused(echo(new Own()), "result", /has private fields of Own/);
  });
});
