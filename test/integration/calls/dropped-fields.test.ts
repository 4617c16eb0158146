import { createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routine, SerializationError, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

class RequestFailed extends Error {
  override name = "RequestFailed";
  readonly code = "ECONNREFUSED";
  readonly config: object;
  readonly request: unknown;
  response: object | undefined;

  constructor(message: string, config: object, request: unknown, options?: ErrorOptions) {
    super(message, options);
    this.config = config;
    this.request = request;
  }
}

/** The paths that an error says it lost. */
function droppedOf(error: unknown): unknown {
  return Object.getOwnPropertyDescriptor(error, "dropped");
}

function listed(...paths: string[]): PropertyDescriptor {
  return { value: paths, writable: true, enumerable: false, configurable: true };
}

async function reasonOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => "nothing was thrown",
    (error: unknown) => error,
  );
}

test("an error arrives as itself without the field that cannot travel", async () => {
  const fail = routine(async (): Promise<never> => {
    const cause = new RangeError("inner");
    const error = new RequestFailed("refused", { url: "http://x", retries: 2 }, createServer(), { cause });
    error.response = { status: 502, request: createServer(), headers: new Map([["a", "b"]]) };
    throw error;
  });
  const error = await reasonOf(fail());
  expect(error).toBeInstanceOf(RequestFailed);
  if (!(error instanceof RequestFailed)) return;
  expect(error.message).toBe("refused");
  expect([error.code, error.name]).toEqual(["ECONNREFUSED", "RequestFailed"]);
  expect(error.config).toEqual({ url: "http://x", retries: 2 });
  expect(error.cause).toBeInstanceOf(RangeError);
  expect(error.response).toEqual({ status: 502, headers: new Map([["a", "b"]]) });
  expect("request" in error).toBe(false);
  expect(droppedOf(error)).toEqual(listed("error.request", "error.response.request"));
  expect(Object.keys(error)).not.toContain("dropped");
  expect(error.stack).toContain("dropped-fields.test.ts");
});

test("what cannot do without a part goes whole: an instance, a list, a function", async () => {
  class Client {
    readonly server = createServer();
    readonly name = "c";
  }
  const fail = routine(async (): Promise<never> => {
    const server = createServer();
    throw Object.assign(new TypeError("bad"), {
      client: new Client(),
      list: [1, { server }],
      handler: () => server,
      kept: { list: [1, 2] },
    });
  });
  const error = await reasonOf(fail());
  expect(error).toBeInstanceOf(TypeError);
  expect(error).toMatchObject({ message: "bad", kept: { list: [1, 2] }, list: [1, {}] });
  const dropped = (droppedOf(error) as { value: string[] }).value;
  expect(dropped.toSorted()).toEqual(["error.client", "error.handler", "error.list[1].server"]);
});

test("also in causes, in the errors of an AggregateError, and under accessors", async () => {
  const fail = routine(async (): Promise<never> => {
    const broken = Object.assign(new Error("one"), { code: "E1", socket: createServer() });
    const cause = new Error("why");
    const server = createServer();
    Object.defineProperty(cause, "live", { get: () => server, enumerable: true, configurable: true });
    throw new AggregateError([broken, new Error("two")], "both", { cause });
  });
  const error = await reasonOf(fail());
  expect(error).toBeInstanceOf(AggregateError);
  if (!(error instanceof AggregateError)) return;
  expect(error.errors.map(String)).toEqual(["Error: one", "Error: two"]);
  expect(error.errors[0]).toMatchObject({ code: "E1" });
  expect(error.cause).toMatchObject({ message: "why" });
  expect((droppedOf(error) as { value: string[] }).value.toSorted()).toEqual([
    "error.cause.live",
    "error.errors[0].socket",
  ]);
});

test("a plain object that is thrown, and a frozen error", async () => {
  const plain = routine(async (): Promise<never> => {
    const thrown: unknown = { status: 404, socket: createServer() };
    throw thrown;
  });
  const object = await reasonOf(plain());
  expect(object).toEqual({ status: 404 });
  expect(droppedOf(object)).toEqual(listed("error.socket"));
  const frozen = routine(async (): Promise<never> => {
    throw Object.freeze(Object.assign(new Error("cold"), { socket: createServer() }));
  });
  const error = await reasonOf(frozen());
  expect(error).toMatchObject({ message: "cold", dropped: ["error.socket"] });
});

test("through a nested call, each part that was lost on the way is listed", async () => {
  const inner = routine(async (): Promise<never> => {
    throw Object.assign(new Error("deep"), { first: createServer() });
  });
  const outer = routine(async (): Promise<never> => {
    try {
      return await inner();
    } catch (error) {
      if (error instanceof Error) Object.assign(error, { second: createServer() });
      throw error;
    }
  });
  const error = await reasonOf(outer());
  expect(error).toMatchObject({ message: "deep" });
  expect(droppedOf(error)).toEqual(listed("error.first", "error.second"));
});

test("a property of that name of the user's is left alone", async () => {
  const fail = routine(async (): Promise<never> => {
    throw Object.assign(new Error("mine"), { dropped: 3, socket: createServer() });
  });
  expect(await reasonOf(fail())).toMatchObject({ message: "mine", dropped: 3 });
});

test("an error that lacks nothing has no such property", async () => {
  const fail = routine(async (): Promise<never> => {
    throw new Error("whole");
  });
  expect(droppedOf(await reasonOf(fail()))).toBeUndefined();
});

test("a generator's error, too; results are refused as before, and so is what cannot travel at all", async () => {
  const steps = routine(async function* (): AsyncGenerator<number> {
    yield 1;
    throw Object.assign(new RangeError("late"), { socket: createServer() });
  })();
  await steps.next();
  const late = await reasonOf(steps.next());
  expect(late).toBeInstanceOf(RangeError);
  expect(late).toMatchObject({ message: "late", dropped: ["error.socket"] });
  const result = routine(async () => Object.assign(new Error("a result"), { socket: createServer() }));
  expect(await reasonOf(result())).toBeInstanceOf(SerializationError);
  const whole = routine(async (): Promise<never> => {
    const thrown: unknown = createServer();
    throw thrown;
  });
  expect(await reasonOf(whole())).toBeInstanceOf(SerializationError);
});
