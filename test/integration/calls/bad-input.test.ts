import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as wool from "wool-ts";
import {
  type CallOptions,
  CodeUnavailable,
  ContextVar,
  type ContextVarOptions,
  DiscoveryError,
  events,
  HandshakeError,
  InvalidArgument,
  LocalWorker,
  NoWorkersAvailable,
  PoolClosed,
  type PoolOptions,
  PoolSaturated,
  type RoutineOptions,
  RpcError,
  routine,
  runtimeContext,
  SerializationError,
  TaskCancelled,
  TaskTimeout,
  TransientRpcError,
  UnexpectedResponse,
  VersionMismatch,
  WoolError,
  WorkerLost,
  type WorkerOptions,
  WorkerPool,
  WorkerProxy,
  WorkerStartError,
} from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { runningChildren } from "../../support/processes.ts";

const add = routine(async (x: number, y: number) => x + y);
const count = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield i;
});

function invalid(action: () => unknown): InvalidArgument {
  let thrown: unknown = "nothing was thrown";
  try {
    action();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(InvalidArgument);
  expect(thrown).toMatchObject({ code: "WOOL_INVALID_ARGUMENT", name: "InvalidArgument" });
  return thrown as InvalidArgument;
}

describe("routine()", () => {
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a string", "add"],
    ["a number", 5],
    ["an array", [async () => 1]],
    ["a promise", Promise.resolve(1)],
    ["a class", class Job {}],
  ])("of %s is refused with what to write", (_name, value) => {
    const { message } = invalid(() => routine(value as never));
    expect(message).toMatch(/routine\(\)/);
  });

  test.each<[string, object, RegExp]>([
    ["an unknown option", { timeuot: 5 }, /no option "timeuot".*did you mean "timeout"/],
    ["a negative timeout", { timeout: -1 }, /timeout.*-1/],
    ["a timeout that is no number", { timeout: "5s" }, /timeout.*"5s"/],
    ["a timeout that is not a number", { timeout: Number.NaN }, /timeout.*NaN/],
    ["an empty name", { name: "" }, /name/],
    ["a fraction for prefetch", { prefetch: 0.5 }, /prefetch.*0\.5/],
    ["a negative prefetch", { prefetch: -1 }, /prefetch.*-1/],
    ["a way to ship that is none", { ship: "boat" }, /ship.*"boat"/],
    ["a serializer without loads", { serializer: { dumps: () => new Uint8Array() } }, /serializer/],
    ["idempotent that is no boolean", { idempotent: "yes" }, /idempotent/],
    ["a call option", { signal: new AbortController().signal }, /signal/],
  ])("with %s is refused", (_name, options, text) => {
    expect(invalid(() => routine(async () => 1, options as RoutineOptions)).message).toMatch(text);
    expect(invalid(() => routine(options as RoutineOptions)).message).toMatch(text);
  });

  test("with options that are no object is refused", () => {
    for (const options of [null, 5, []]) invalid(() => routine(async () => 1, options as unknown as RoutineOptions));
  });

  test("as a decorator of what is not a method is refused", () => {
    const context = {
      kind: "field",
      name: "x",
      addInitializer: () => undefined,
    } as unknown as ClassMethodDecoratorContext;
    expect(invalid(() => routine(undefined as never, context)).message).toMatch(/field/);
    invalid(() => routine({}, "x", { value: 5 } as never));
    invalid(() => routine({}, "x", undefined as never));
  });
});

describe("with()", () => {
  test.each<[string, unknown, RegExp]>([
    ["an unknown option", { retries: 3 }, /retries/],
    ["a signal that is none", { signal: {} }, /signal/],
    ["a pool that is none", { pool: {} }, /pool/],
    ["a key that is no string", { key: 5 }, /key/],
    ["nothing", undefined, /options/],
  ])("%s is refused at once", (_name, options, text) => {
    expect(invalid(() => add.with(options as CallOptions)).message).toMatch(text);
    expect(invalid(() => count.with(options as CallOptions)).message).toMatch(text);
  });
});

describe("WorkerPool.start()", () => {
  test.each<[string, unknown, RegExp]>([
    ["a negative size", { size: -1 }, /size.*-1/],
    ["a fraction for a size", { size: 1.5 }, /size.*1\.5/],
    ["a size that is not a number", { size: Number.NaN }, /size.*NaN/],
    ["a size that is text", { size: "4" }, /size.*"4"/],
    ["an infinite size", { size: Number.POSITIVE_INFINITY }, /size.*Infinity/],
    ["a size of 0 and no discovery", { size: 0 }, /size 0/],
    ["an unknown option", { sise: 4 }, /no option "sise".*did you mean "size"/],
    ["tags that are no array", { tags: "gpu" }, /tags/],
    ["a quorum that is negative", { quorum: -1 }, /quorum/],
    ["a quorum beyond all workers", { size: 1, quorum: 5 }, /quorum of 5 .*pool of 1 workers.*or a discovery/],
    ["a quorum beyond all cores", { quorum: 1_000_000 }, /quorum of 1000000 .*or a discovery/],
    ["a lease and no discovery", { size: 2, lease: 1 }, /lease bounds.*no discovery: give one, or leave lease out/],
    ["a lease of 0 and nothing else", { discovery: "local:x", lease: 0 }, /quorum of 1 .*a lease of 0.*a lease of 1/],
    [
      "a quorum beyond its lease",
      { discovery: "local:x", lease: 2, quorum: 3 },
      /quorum of 3 .*with a lease of 2: give a smaller quorum, or a lease of 3/,
    ],
    [
      "a quorum beyond its workers and its lease",
      { size: 1, discovery: "local:x", lease: 1, quorum: 3 },
      /quorum of 3 .*with a size of 1 and a lease of 1: .*a lease of 2/,
    ],
    ["a filter that is no function", { filter: true }, /filter/],
    ["a worker that is no function", { worker: {} }, /worker/],
    ["a maxPending that is negative", { maxPending: -5 }, /maxPending/],
    ["a discovery that is none", { size: 1, discovery: {} }, /discovery/],
    ["a load balancer that is none", { size: 1, loadBalancer: {} }, /loadBalancer/],
    ["options that are no object", 4, /options/],
    ["an unknown worker option", { workerOptions: { hots: "127.0.0.1" } }, /no option "hots".*did you mean "host"/],
    ["a port out of range", { workerOptions: { host: "127.0.0.1", port: 70_000 } }, /port.*70000/],
    ["a port without a host", { workerOptions: { port: 5 } }, /"port" needs a "host"/],
    ["a channel option below zero", { workerOptions: { channel: { maxMessageBytes: -5 } } }, /maxMessageBytes.*-5/],
    ["an unknown limit", { workerOptions: { resourceLimits: { stackSize: 1 } } }, /resourceLimits.*mean "stackSizeMb"/],
    ["a fraction for threads", { workerOptions: { threads: 0.5 } }, /threads/],
    ["environment values that are no strings", { workerOptions: { env: { A: 1 } } }, /env/],
  ])("%s is refused and starts nothing", async (_name, options, text) => {
    const before = runningChildren();
    const error: unknown = await WorkerPool.start(options as PoolOptions).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidArgument);
    expect((error as Error).message).toMatch(text);
    expect(runningChildren()).toEqual(before);
  });

  test("a LocalWorker checks its options, too", () => {
    expect(invalid(() => new LocalWorker({ treads: 1 } as WorkerOptions)).message).toMatch(/treads/);
  });
});

describe("a WorkerProxy", () => {
  test.each<[unknown, RegExp]>([
    [5, /5 is not the metadata of a worker/],
    ["nowhere", /"nowhere" is neither "host:port"/],
    [{ uid: "w" }, /not the metadata of a worker/],
  ])("of the worker %o is refused at once", (worker, text) => {
    expect(invalid(() => new WorkerProxy({ workers: [worker as string] })).message).toMatch(text);
  });

  test("runs functions only", async () => {
    await using proxy = new WorkerProxy({ workers: ["127.0.0.1:1"] });
    expect(invalid(() => proxy.run(5 as never)).message).toBe("proxy.run() takes a function to run, not 5");
  });
});

describe("what follows the flow of calls", () => {
  test("a ContextVar knows its options", () => {
    const options = { defualt: 1 } as ContextVarOptions<number>;
    expect(invalid(() => new ContextVar("x", options)).message).toMatch(/no option "defualt"; did you mean "default"/);
    expect(invalid(() => new ContextVar("x", { namespace: 5 as never })).message).toMatch(
      /"namespace".*a string, not 5/,
    );
    expect(invalid(() => new ContextVar("x", 5 as never)).message).toMatch(/takes an options object, not 5/);
  });

  test("scopes run functions only", () => {
    const variable = new ContextVar<number>("x");
    expect(invalid(() => variable.run(1, 5 as never)).message).toMatch(
      /run\(\) of a ContextVar takes.*function.*not 5/,
    );
    expect(invalid(() => runtimeContext.run({}, 5 as never)).message).toMatch(
      /runtimeContext\.run\(\).*function.*not 5/,
    );
  });

  test("events are told by their names, to functions", () => {
    expect(invalid(() => events.on("nope" as never, () => undefined)).message).toMatch(/no events "nope": use one of/);
    expect(invalid(() => events.on("worker-added", undefined as never)).message).toMatch(/function.*not undefined/);
  });
});

test("classes and functions have the names that they are exported by", () => {
  const named = Object.entries(wool).filter(([, value]) => typeof value === "function");
  expect(named.length).toBeGreaterThan(20);
  for (const [name, value] of named) expect(value).toHaveProperty("name", name);
});

describe("a pool", () => {
  let pool: WorkerPool;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "wool-bad-input-"));
    pool = await poolOf(1, { maxPending: 2 });
  });
  afterAll(async () => {
    await pool.stop();
    await rm(folder, { recursive: true });
  });

  /** Keeps its thread busy until the file is there: nothing else is accepted meanwhile. */
  const block = routine(async (file: string) => {
    while (!existsSync(file));
  });

  test("runs functions only", () => {
    expect(invalid(() => pool.run(5 as never)).message).toBe("pool.run() takes a function to run, not 5");
  });

  test("refuses what is not a routine", () => {
    const plain = async (): Promise<number> => 1;
    expect(invalid(() => pool.dispatch(plain)).message).toMatch(/not a routine/);
    invalid(() => pool.dispatch(undefined as never));
    expect(invalid(() => pool.map(count as never, [1])).message).toMatch(/generator/);
  });

  test("refuses to broadcast what is not a function routine", async () => {
    await expect(pool.broadcast((async () => 1) as never)).rejects.toBeInstanceOf(InvalidArgument);
    await expect(pool.broadcast(count as never, 1 as never)).rejects.toBeInstanceOf(InvalidArgument);
  });

  test("with too many calls waiting refuses more, at once, and goes on", async () => {
    const file = join(folder, "saturated");
    const blocked = pool.dispatch(block, file);
    const calls = Array.from({ length: 200 }, () => pool.dispatch(add, 1, 2));
    const outcomes = Promise.allSettled(calls);
    const first = await Promise.race(calls.map((call) => call.catch((error: unknown) => error)));
    expect(first).toBeInstanceOf(PoolSaturated);
    expect(first).toMatchObject({ code: "WOOL_POOL_SATURATED", message: expect.stringMatching(/maxPending/) });
    writeFileSync(file, "");
    await blocked;
    const settled = await outcomes;
    const refused = settled.filter((one) => one.status === "rejected" && one.reason instanceof PoolSaturated);
    const done = settled.filter((one) => one.status === "fulfilled");
    expect(refused.length + done.length).toBe(200);
    expect(done.length).toBeGreaterThan(0);
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
  });

  test("whose worker accepts nothing in time says so", async () => {
    const file = join(folder, "timeout");
    const blocked = pool.dispatch(block, file);
    const error: unknown = await pool
      .dispatch(add.with({ dispatchTimeout: 50 }), 1, 2)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TaskTimeout);
    expect(error).toMatchObject({ message: expect.stringMatching(/dispatchTimeout of 50 ms/) });
    writeFileSync(file, "");
    await blocked;
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
  });
});

describe("a pool that has been stopped", () => {
  let stopped: WorkerPool;

  beforeAll(async () => {
    stopped = await poolOf(1);
    await stopped.stop();
  });

  async function closed(call: Promise<unknown>): Promise<void> {
    const error: unknown = await call.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PoolClosed);
    expect(error).toMatchObject({ code: "WOOL_POOL_CLOSED" });
  }

  test("rejects calls of every kind with PoolClosed", async () => {
    await closed(stopped.dispatch(add, 1, 2));
    await closed(stopped.run(() => add(1, 2)));
    await closed(add.with({ pool: stopped })(1, 2));
    await closed(stopped.broadcast(add, 1, 2));
    await closed(
      stopped
        .map(add as never, [1])
        [Symbol.asyncIterator]()
        .next(),
    );
  });

  test("fails streams at their first step", async () => {
    const stream = stopped.dispatch(count, 3);
    await closed(stream.next());
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    await closed(stopped.run(() => count(3)).next());
  });

  test("has no workers, and can be stopped again", async () => {
    expect(stopped.workers.size).toBe(0);
    expect(stopped.stats()).toMatchObject({ inFlight: 0, queued: 0 });
    await stopped.stop();
    await stopped[Symbol.asyncDispose]();
  });
});

test.each([
  [InvalidArgument, "WOOL_INVALID_ARGUMENT"],
  [NoWorkersAvailable, "WOOL_NO_WORKERS_AVAILABLE"],
  [PoolSaturated, "WOOL_POOL_SATURATED"],
  [PoolClosed, "WOOL_POOL_CLOSED"],
  [DiscoveryError, "WOOL_DISCOVERY"],
  [WorkerStartError, "WOOL_WORKER_START"],
  [RpcError, "WOOL_RPC"],
  [TransientRpcError, "WOOL_RPC_TRANSIENT"],
  [HandshakeError, "WOOL_HANDSHAKE"],
  [WorkerLost, "WOOL_WORKER_LOST"],
  [TaskTimeout, "WOOL_TASK_TIMEOUT"],
  [TaskCancelled, "WOOL_TASK_CANCELLED"],
  [SerializationError, "WOOL_SERIALIZATION"],
  [CodeUnavailable, "WOOL_CODE_UNAVAILABLE"],
  [VersionMismatch, "WOOL_VERSION_MISMATCH"],
  [UnexpectedResponse, "WOOL_UNEXPECTED_RESPONSE"],
])("%o is a WoolError with a name and a code of its own", (type, code) => {
  const Type = type as new (message: string) => WoolError;
  const error = new Type("text");
  expect(error).toBeInstanceOf(WoolError);
  expect(error).toBeInstanceOf(Error);
  expect({ name: error.name, code: error.code, message: error.message }).toEqual({
    name: Type.name,
    code,
    message: "text",
  });
  expect(WoolError.isWoolError(error)).toBe(true);
});

test("what is worth another try elsewhere is an RpcError of its own kind", () => {
  expect(HandshakeError.prototype).toBeInstanceOf(TransientRpcError);
  expect(TransientRpcError.prototype).toBeInstanceOf(RpcError);
  expect(VersionMismatch.prototype).not.toBeInstanceOf(TransientRpcError);
});
