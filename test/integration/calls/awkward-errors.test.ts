import { types } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, SerializationError, WorkerPool } from "wool-ts";

let pool: WorkerPool;

beforeAll(async () => {
  // One slot: a task that does not end would keep every later one from being run.
  pool = await WorkerPool.start({ size: 1, workerOptions: { maxConcurrency: 1 } });
});
afterAll(async () => {
  await pool.stop();
});

const kinds: Record<string, (make: () => unknown) => Promise<unknown>> = {
  "a function": routine((make: () => unknown): never => {
    throw make();
  }),
  "an asynchronous function": routine(async (make: () => unknown): Promise<never> => {
    await Promise.resolve();
    throw make();
  }),
  "a generator": async (make) => {
    const stream = fail(make);
    await stream.next();
    return await stream.next();
  },
};

const fail = routine(async function* (make: () => unknown): AsyncGenerator<number, never, unknown> {
  yield 1;
  throw make();
});

class Undescribed {
  readonly w = new WeakRef(this);

  toString(): string {
    throw new Error("not me");
  }
}

/** What can neither travel nor do without its parts. */
const awkward: Record<string, () => unknown> = {
  "an object that inherits nothing": () =>
    Object.assign(Object.create(Object.create(null) as object) as object, { w: new WeakRef({}) }),
  "an object that throws when it is described": () => new Undescribed(),
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
};

const awkwardErrors: Record<string, () => unknown> = {
  "an error whose message cannot be read": () =>
    Object.defineProperty(Object.assign(new Error("x"), { w: new WeakRef({}) }), "message", {
      get: () => {
        throw new Error("not me");
      },
    }),
  "an error with a message that is no text": () =>
    Object.assign(new Error("x"), { message: Object.create(null) as unknown, w: new WeakRef({}) }),
};

describe.each(Object.entries(kinds))("what %s throws", (_kind, call) => {
  test.each(Object.entries(awkward))("and is hard to describe is told of: %s", async (_name, make) => {
    const error: unknown = await call(make).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SerializationError);
    expect((error as SerializationError).path).toMatch(/^error/);
  });

  test("and cannot travel is called an error", async () => {
    const error: unknown = await call(() => [new WeakRef({})]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ path: "error[0]", message: expect.stringContaining(": error[0]: a WeakRef") });
  });

  test.each(Object.entries(awkwardErrors))("and lacks a field that cannot travel arrives: %s", async (_name, make) => {
    const error: unknown = await call(make).catch((reason: unknown) => reason);
    expect(types.isNativeError(error)).toBe(true);
    expect(Object.getOwnPropertyDescriptor(error, "dropped")?.value).toEqual(["error.w"]);
  });

  test("arrives though its stack cannot be made", async () => {
    const named: unknown = await call(() => Object.assign(new RangeError("x"), { name: Symbol.for("q") })).catch(
      (reason: unknown) => reason,
    );
    expect(named).toBeInstanceOf(RangeError);
    expect(named).toMatchObject({ name: Symbol.for("q"), message: "x" });
    const guarded: unknown = await call(() =>
      Object.defineProperty(new RangeError("x"), "stack", {
        get: () => {
          throw new Error("not me");
        },
        configurable: true,
      }),
    ).catch((reason: unknown) => reason);
    expect(guarded).toBeInstanceOf(RangeError);
    expect(guarded).toMatchObject({ message: "x" });
  });
});

test.each(Object.entries({ ...awkward, ...awkwardErrors }))(
  "a serializer that throws what is hard to describe fails the call: %s",
  async (_name, make) => {
    const encoder = { dumps: (value: unknown) => Buffer.from(JSON.stringify(value)), loads: () => [] };
    const serializer = {
      ...encoder,
      dumps: (value: unknown) => {
        if (value === "given back") throw make();
        return encoder.dumps(value);
      },
    };
    const give = routine(async () => "given back", { serializer });
    await expect(give()).rejects.toThrow(SerializationError);
  },
);
