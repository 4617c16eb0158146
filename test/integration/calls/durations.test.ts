import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  currentTask,
  InvalidArgument,
  LanDiscovery,
  LocalDiscovery,
  LocalWorker,
  NoWorkersAvailable,
  ResilientWorker,
  routine,
  runtimeContext,
  StaticDiscovery,
  TaskCancelled,
  TaskTimeout,
  WorkerConnection,
  WorkerLost,
  type WorkerMetadata,
  type WorkerOptions,
  WorkerPool,
  WorkerProxy,
  WorkerStartError,
} from "wool-ts";
import { DnsDiscovery } from "wool-ts/dns";
import { EtcdDiscovery } from "wool-ts/etcd";
import { RedisDiscovery } from "wool-ts/redis";
import { TestAuthority } from "../../support/certificates.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

/** Longer than any test: no such time may be over at once, block the event loop or be refused. */
const LONG = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 0.5, 2 ** 32, 2 ** 53, 1e300, Number.MAX_VALUE, Number.POSITIVE_INFINITY];
const long = fc.oneof(fc.constantFrom(...LONG), fc.double({ min: 2 ** 31, noNaN: true }));
/** Over before anything that takes a turn of the event loop is. */
const SHORT = [0, -0, Number.MIN_VALUE, 0.4, 0.5, 0.999];
const WRONG = [Number.NaN, -1, -0.5, Number.NEGATIVE_INFINITY, "5", null, 5n];
const LIMITS = ["stallTimeout", "handshakeTimeout", "requestTimeout", "idleTimeout", "keepaliveTimeout"] as const;

expectNothingLeft();

const add = routine(async (x: number, y: number) => x + y);
const nest = routine(async (x: number) => await add(x, 1));
const never = routine(async () => await new Promise<never>(() => undefined));
const deadline = routine(async () => currentTask()?.deadline);
/** Ends some time after it was cancelled. */
const slowToEnd = routine(async () => {
  const signal = currentTask()?.signal;
  await new Promise((resolve) => signal?.addEventListener("abort", resolve));
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.stderr.write("");
  return "ended";
});
const endsLater = routine(async () => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return "done";
});

/** Uses an option in a way that is refused at once if its value is wrong. */
const uses: readonly [string, (ms: never) => unknown][] = [
  ["timeout", (timeout) => add.with({ timeout })],
  ["timeout of a routine", (timeout) => routine(async () => 1, { timeout })],
  ["dispatchTimeout", (dispatchTimeout) => add.with({ dispatchTimeout })],
  ["dispatchTimeout of a scope", (dispatchTimeout) => runtimeContext.run({ dispatchTimeout }, () => 1)],
  ["quorumTimeout of a proxy", (quorumTimeout) => new WorkerProxy({ namespace: "x", quorumTimeout })],
  ["shutdownGracePeriod", (shutdownGracePeriod) => new LocalWorker({ shutdownGracePeriod })],
  ["proxyPoolTtl", (proxyPoolTtl) => new LocalWorker({ proxyPoolTtl })],
  ["keepaliveInterval", (keepaliveInterval) => new LocalWorker({ channel: { keepaliveInterval } })],
  ["keepaliveTimeout", (keepaliveTimeout) => new LocalWorker({ channel: { keepaliveTimeout } })],
  ["firstDelay", (firstDelay) => new ResilientWorker({}, { firstDelay })],
  ["longestDelay", (longestDelay) => new ResilientWorker({}, { longestDelay })],
  ["window", (window) => new ResilientWorker({}, { window })],
  ["pollInterval", (pollInterval) => new LocalDiscovery("x", { pollInterval })],
  ["ttl of LanDiscovery", (ttl) => new LanDiscovery("x", { ttl })],
  ["ttl of EtcdDiscovery", (ttl) => new EtcdDiscovery({ ttl })],
  ["connectTimeout of EtcdDiscovery", (connectTimeout) => new EtcdDiscovery({ connectTimeout })],
  ["ttl of RedisDiscovery", (ttl) => new RedisDiscovery({ ttl })],
  ["connectTimeout of RedisDiscovery", (connectTimeout) => new RedisDiscovery({ connectTimeout })],
  ["timeout of DnsDiscovery", (timeout) => new DnsDiscovery("x", { timeout })],
  [
    "minInterval of DnsDiscovery",
    (ms) => new DnsDiscovery("x", { minInterval: ms, maxInterval: Number.POSITIVE_INFINITY }),
  ],
  ["maxInterval of DnsDiscovery", (ms) => new DnsDiscovery("x", { minInterval: 0, maxInterval: ms })],
  ...LIMITS.map((limit): [string, (ms: never) => unknown] => [
    limit,
    (ms) => new LocalWorker({ limits: { [limit]: ms } }),
  ]),
];

describe.each(uses)("%s", (_name, use) => {
  test("takes every duration, and nothing else", () => {
    for (const ms of [...LONG, ...SHORT]) expect(() => use(ms as never)).not.toThrow();
    fc.assert(fc.property(fc.double({ min: 0, noNaN: true }), (ms) => void use(ms as never)));
    for (const ms of WRONG) expect(() => use(ms as never)).toThrow(InvalidArgument);
  });
});

test("times of stops and starts are refused when they are no numbers, and so is a quorumTimeout", async () => {
  await using worker = new LocalWorker();
  await using pool = await WorkerPool.start({ discovery: new StaticDiscovery([]), quorum: 0 });
  for (const timeout of [Number.NaN, "5", null, 5n] as never[]) {
    expect(await reasonOf(worker.stop({ timeout }))).toBeInstanceOf(InvalidArgument);
    expect(await reasonOf(pool.stop({ timeout }))).toBeInstanceOf(InvalidArgument);
  }
  for (const wrong of WRONG as never[]) {
    expect(await reasonOf(worker.start({ timeout: wrong }))).toBeInstanceOf(InvalidArgument);
    expect(await reasonOf(WorkerPool.start({ size: 1, quorumTimeout: wrong }))).toBeInstanceOf(InvalidArgument);
  }
});

describe("of calls", () => {
  let pool: WorkerPool;
  beforeAll(async () => {
    pool = await WorkerPool.start({ size: 1, workerOptions: { maxConcurrency: 1 } });
  });
  afterAll(async () => {
    await pool.stop();
  });

  test("long ones are not over", async () => {
    const one = async (timeout: number, dispatchTimeout: number): Promise<void> => {
      expect(await pool.dispatch(add.with({ timeout, dispatchTimeout }), 1, 2)).toBe(3);
      expect(await pool.dispatch(nest.with({ timeout, dispatchTimeout }), 1)).toBe(2);
      const scope = () => pool.dispatch(nest, 1);
      expect(await runtimeContext.run({ dispatchTimeout }, scope)).toBe(2);
      const at = await pool.dispatch(deadline.with({ timeout }));
      expect(at === undefined || at > Date.now() + 1_000_000).toBe(true);
    };
    await fc.assert(fc.asyncProperty(long, long, one), { numRuns: 25, examples: LONG.map((ms) => [ms, ms]) });
  });

  test("none at all is over, however fast the call would be", async () => {
    const items = routine(async function* () {
      yield 1;
    });
    for (const options of [{ timeout: 0 }, { dispatchTimeout: 0 }]) {
      const calls = Array.from({ length: 50 }, () => reasonOf(pool.dispatch(add.with(options), 1, 2)));
      for (const reason of await Promise.all(calls)) expect(reason).toBeInstanceOf(TaskTimeout);
      for (let i = 0; i < 20; i++) {
        expect(await reasonOf(pool.dispatch(add.with(options), 1, 2))).toBeInstanceOf(TaskTimeout);
        expect(await reasonOf(pool.dispatch(items.with(options)).next())).toBeInstanceOf(TaskTimeout);
      }
      expect(await pool.broadcast(add.with(options), 1, 2)).toMatchObject([{ reason: expect.any(TaskTimeout) }]);
    }
    expect(pool.stats()).toMatchObject({ inFlight: 0, queued: 0 });
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
  });

  test("short ones are", async () => {
    for (const ms of SHORT) {
      expect(await reasonOf(pool.dispatch(never.with({ timeout: ms })))).toBeInstanceOf(TaskTimeout);
    }
    const abort = new AbortController();
    const busy = reasonOf(pool.dispatch(never.with({ signal: abort.signal })));
    await until(() => pool.stats().inFlight === 1, "the worker is busy");
    for (const ms of SHORT) {
      const waiting = pool.dispatch(add.with({ dispatchTimeout: ms }), 1, 2);
      expect(await reasonOf(waiting)).toBeInstanceOf(TaskTimeout);
      const nested = runtimeContext.run({ dispatchTimeout: ms }, () => pool.dispatch(add, 1, 2));
      expect(await reasonOf(nested)).toBeInstanceOf(TaskTimeout);
    }
    abort.abort();
    await busy;
  });
});

describe("of starts and stops", () => {
  async function expectStopToWait(connection: WorkerConnection, timeout: number): Promise<void> {
    const task = connection.dispatch(endsLater);
    await until(async () => (await connection.idleTime()) === 0, "the task runs");
    const stopping = connection.stop({ timeout });
    expect(await task).toBe("done");
    await stopping;
  }

  test.each(LONG)("%d is not over", async (ms) => {
    const options: WorkerOptions = {
      shutdownGracePeriod: ms,
      proxyPoolTtl: ms,
      channel: { keepaliveInterval: ms, keepaliveTimeout: ms },
      limits: Object.fromEntries(LIMITS.map((limit) => [limit, ms])),
    };
    const restart = { firstDelay: ms, longestDelay: ms, window: ms };
    await using worker = new ResilientWorker(options, restart);
    await worker.start({ timeout: ms });
    const discovery = new StaticDiscovery([worker.metadata as WorkerMetadata]);
    const pool = await WorkerPool.start({ discovery, quorumTimeout: ms });
    expect(await pool.dispatch(nest, 1)).toBe(2);
    const call = pool.dispatch(slowToEnd.with({ signal: AbortSignal.timeout(50) })).catch(() => "cancelled");
    const last = pool.dispatch(add, 1, 2);
    const stopping = pool.stop({ timeout: ms });
    expect([await last, await call]).toEqual([3, "cancelled"]);
    await stopping;
    await using connection = new WorkerConnection(worker.metadata as WorkerMetadata);
    expect(await connection.dispatch(add, 1, 2)).toBe(3);
    await expectStopToWait(connection, ms);
    await worker.stop({ timeout: ms });
  });

  test.each(LONG)("%d is no time limit of connections with TLS", async (ms) => {
    const credentials = new TestAuthority().worker({ mutual: true });
    const limits = Object.fromEntries(LIMITS.map((limit) => [limit, ms]));
    const workerOptions = { host: "127.0.0.1", limits };
    await using pool = await WorkerPool.start({ size: 1, credentials, workerOptions });
    expect(await pool.dispatch(nest, 1)).toBe(2);
  });

  test.each([-1, -0.5, Number.NEGATIVE_INFINITY])("stop({ timeout: %d }) waits for all", async (timeout) => {
    await using worker = new LocalWorker();
    await worker.start();
    await using connection = new WorkerConnection(worker.metadata as WorkerMetadata);
    await expectStopToWait(connection, timeout);
  });

  test.each(SHORT)("%d is over at once", async (ms) => {
    await using worker = new LocalWorker({ shutdownGracePeriod: ms, proxyPoolTtl: ms });
    expect(await reasonOf(new LocalWorker().start({ timeout: ms }))).toBeInstanceOf(WorkerStartError);
    await worker.start();
    await using pool = await WorkerPool.start({
      discovery: new StaticDiscovery([worker.metadata as WorkerMetadata]),
    });
    expect(await pool.dispatch(nest, 1)).toBe(2);
    const running = reasonOf(pool.dispatch(never));
    await using connection = new WorkerConnection(worker.metadata as WorkerMetadata);
    await until(async () => (await connection.idleTime()) === 0, "the task runs");
    await connection.stop({ timeout: ms });
    // Without a grace period the worker may end before it has answered.
    const ended = await running;
    if (!(ended instanceof WorkerLost)) expect(ended).toBeInstanceOf(TaskCancelled);
    const none = WorkerPool.start({ discovery: new StaticDiscovery([]), quorumTimeout: ms });
    expect(await reasonOf(none)).toBeInstanceOf(NoWorkersAvailable);
  });
});
