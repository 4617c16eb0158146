import { describe, expect, test, vi } from "vitest";
import {
  type DiscoveryLike,
  InvalidArgument,
  type LoadBalancerLike,
  LocalDiscovery,
  LocalWorker,
  type PoolOptions,
  RoundRobinLoadBalancer,
  routine,
  Worker,
  type WorkerLike,
  WorkerLost,
  type WorkerMetadata,
  type WorkerOptions,
  WorkerPool,
  WorkerStartError,
} from "wool-ts";
import { expectNoOpenPool, expectNothingLeft, newChildren } from "../support/nothing-left.ts";
import { killProcess } from "../support/processes.ts";
import { errorOf } from "../support/reason-of.ts";
import { fixture } from "../support/run-program.ts";
import { until } from "../support/until.ts";

const pid = routine(async () => process.pid);

expectNothingLeft(expectNoOpenPool);

const failureOf = (promise: Promise<unknown>) => errorOf(promise, Error);

/** A worker that is no `Worker`: it has another do the work, and keeps a log. */
class Delegate implements WorkerLike {
  readonly log: string[];
  readonly #inner: LocalWorker;

  constructor(options: WorkerOptions, log: string[] = []) {
    this.#inner = new LocalWorker(options);
    this.log = log;
  }

  get uid(): string {
    return this.#inner.uid;
  }
  get tags(): ReadonlySet<string> {
    return this.#inner.tags;
  }
  get extra(): Readonly<Record<string, string>> {
    return this.#inner.extra;
  }
  get metadata(): WorkerMetadata | undefined {
    return this.#inner.metadata;
  }
  get address(): string | undefined {
    return this.#inner.address;
  }
  async start(options?: { timeout?: number }): Promise<void> {
    this.log.push(`start ${options?.timeout}`);
    await this.#inner.start(options);
  }
  async stop(options?: { timeout?: number }): Promise<void> {
    this.log.push(`stop ${options?.timeout}`);
    await this.#inner.stop(options);
  }
}

describe("a custom worker", () => {
  test("that is no Worker is started, used and stopped", async () => {
    const log: string[] = [];
    const pool = await WorkerPool.start({ size: 2, tags: ["x"], worker: (options) => new Delegate(options, log) });
    expect([...pool.workers.values()].map(({ tags }) => [...tags])).toEqual([["x"], ["x"]]);
    expect([...pool.workers.values()].map((worker) => worker.pid)).toContain(await pool.dispatch(pid));
    await pool.stop({ timeout: 7000 });
    expect(log.slice(0, 2)).toEqual(["start 60000", "start 60000"]);
    expect(log.slice(2)).toHaveLength(2);
    for (const line of log.slice(2)) expect(Number(line.replace("stop ", ""))).toBeGreaterThan(0);
  });

  test("that dies is noticed, though it does not tell", async () => {
    await using pool = await WorkerPool.start({ size: 2, worker: (options) => new Delegate(options) });
    const [victim] = pool.workers.values();
    killProcess(victim?.pid);
    await until(() => pool.workers.size === 1, "the pool knows");
    expect(await pool.dispatch(pid)).not.toBe(victim?.pid);
  });

  test("extends Worker: says where it is, and is told how to stop", async () => {
    const stops: number[] = [];
    class Elsewhere extends Worker {
      readonly #machine = new LocalWorker(this.options);
      protected override async onStart(timeout: number): Promise<WorkerMetadata> {
        await this.#machine.start({ timeout });
        const { metadata } = this.#machine;
        if (metadata === undefined) throw new Error("it is nowhere");
        return { ...metadata, uid: this.uid, extra: { zone: "b" } };
      }
      protected override async onStop(timeout: number): Promise<void> {
        stops.push(timeout);
        await this.#machine.stop({ timeout });
      }
    }
    const pool = await WorkerPool.start({ size: 1, worker: (options) => new Elsewhere(options) });
    const [[uid, worker] = []] = pool.workers;
    expect([uid, worker?.extra]).toEqual([worker?.uid, { zone: "b" }]);
    expect(await pool.dispatch(pid)).toBe(worker?.pid);
    await pool.stop({ timeout: -1 });
    expect(stops).toEqual([Number.POSITIVE_INFINITY]);
  });

  test("that tells that it is lost and back is followed", async () => {
    class Moody extends LocalWorker {
      tell(kind: "lost" | "back"): void {
        const { metadata } = this;
        if (metadata === undefined) throw new Error("it is not started");
        this.changed(kind === "back" ? { kind, metadata } : { kind, metadata, reason: "a mood", final: false });
      }
    }
    const made: Moody[] = [];
    const worker = (options: WorkerOptions): Moody => {
      const one = new Moody(options);
      made.push(one);
      return one;
    };
    await using pool = await WorkerPool.start({ size: 1, worker });
    made[0]?.tell("lost");
    await until(() => pool.workers.size === 0, "the pool knows");
    made[0]?.tell("back");
    await until(() => pool.workers.size === 1, "the pool knows again");
    expect(await pool.dispatch(pid)).toBe(made[0]?.metadata?.pid);
  });
});

describe("a factory of workers that is of no use", () => {
  const notAWorker: [string, unknown, RegExp][] = [
    ["nothing", undefined, /option "worker" returned undefined, and that is not an object: it must return a worker/],
    ["a number", 5, /returned 5, and that is not an object/],
    ["an empty object", {}, /returned an object, and that has no method start\(\)/],
    ["a worker without stop", { uid: "x", start: async () => undefined }, /has no method stop\(\)/],
    ["a worker without a uid", { start: async () => undefined, stop: async () => undefined }, /has no uid/],
    ["a promise", Promise.resolve(), /a promise is not a worker/],
  ];
  test.each(notAWorker)("because it gives %s", async (_what, given, message) => {
    // @ts-expect-error Not a worker.
    const error = await failureOf(WorkerPool.start({ size: 2, worker: () => given }));
    expect(error).toBeInstanceOf(InvalidArgument);
    expect(error.message).toMatch(message);
  });

  test("because it throws", async () => {
    let made = 0;
    const worker = (options: WorkerOptions): WorkerLike => {
      if (++made === 2) throw new RangeError("out of machines");
      return new LocalWorker(options);
    };
    expect(await failureOf(WorkerPool.start({ size: 3, worker }))).toEqual(new RangeError("out of machines"));
  });

  test("because it is a class", async () => {
    // @ts-expect-error A class is called with new.
    const error = await failureOf(WorkerPool.start({ size: 1, worker: LocalWorker }));
    expect(error).toBeInstanceOf(InvalidArgument);
    expect(error.message).toContain("is the class LocalWorker: give a function that makes one");
  });

  test("because it gives the same worker twice", async () => {
    const one = new LocalWorker();
    const error = await failureOf(WorkerPool.start({ size: 2, worker: () => one }));
    expect(error.message).toContain(`returned worker ${one.uid} twice`);
  });
});

describe("a worker that", () => {
  const base: WorkerLike = {
    uid: "broken",
    tags: new Set(),
    extra: {},
    metadata: undefined,
    address: undefined,
    start: async () => undefined,
    stop: async () => undefined,
  };

  /** Makes a worker that is in order, and then the broken one. */
  function pairWith(broken: WorkerLike): (options: WorkerOptions) => WorkerLike {
    let made = 0;
    return (options) => (made++ === 0 ? new LocalWorker(options) : broken);
  }

  /** A worker that can be started and used, and stops as `stop` says. */
  function resisting(inner: LocalWorker, stop: () => Promise<void>): WorkerLike {
    return {
      ...base,
      start: () => inner.start(),
      stop,
      get metadata() {
        return inner.metadata === undefined ? undefined : { ...inner.metadata, uid: "broken" };
      },
    };
  }

  test("never gets started is given up some time after the quorumTimeout, and told to stop", async () => {
    const stop = vi.fn(async () => undefined);
    const worker = (): WorkerLike => ({ ...base, start: () => new Promise(() => undefined), stop });
    const error = await failureOf(WorkerPool.start({ size: 1, worker, quorumTimeout: 1 }));
    expect(error).toBeInstanceOf(WorkerStartError);
    expect(error.message).toBe("worker broken did not start within the quorumTimeout of 1 ms");
    expect(stop).toHaveBeenCalledTimes(1);
  });

  test("cannot be started has the others stopped at once, though one of them would take for ever", async () => {
    const hanging = new LocalWorker({ preload: [fixture("lifecycle/hangs.mjs")] });
    const pair = pairWith({ ...base, start: () => Promise.reject(new RangeError("no room")) });
    let made = 0;
    const worker = (options: WorkerOptions): WorkerLike => (made++ === 0 ? hanging : pair(options));
    expect(await failureOf(WorkerPool.start({ size: 3, worker }))).toEqual(new RangeError("no room"));
  });

  test("is there only after the others were stopped is stopped, too", async () => {
    const log: string[] = [];
    let arrive = (): void => undefined;
    const start = (): Promise<void> =>
      new Promise((resolve) => {
        arrive = () => {
          log.push("started");
          resolve();
        };
      });
    const late: WorkerLike = { ...base, start, stop: async () => void log.push("stopped") };
    const failing: WorkerLike = { ...base, uid: "failing", start: () => Promise.reject(new RangeError("no room")) };
    let made = 0;
    const worker = (): WorkerLike => (made++ === 0 ? late : failing);
    expect(await failureOf(WorkerPool.start({ size: 2, worker }))).toEqual(new RangeError("no room"));
    arrive();
    await until(() => log.length === 3, "it is stopped");
    expect(log).toEqual(["stopped", "started", "stopped"]);
  });

  test.each([
    ["throws", () => Promise.reject(new RangeError("no stopping"))],
    [
      "throws at once",
      () => {
        throw new RangeError("no stopping");
      },
    ],
  ])("%s when it is stopped is told of when all else is stopped", async (_how, stop) => {
    const inner = new LocalWorker();
    const pool = await WorkerPool.start({ size: 2, worker: pairWith(resisting(inner, stop)) });
    expect(await failureOf(pool.stop())).toEqual(new RangeError("no stopping"));
    await inner.stop();
  });

  test("does not stop is left behind after a while, and told of", async () => {
    const inner = new LocalWorker();
    const stop = (): Promise<void> => new Promise(() => undefined);
    const pool = await WorkerPool.start({ size: 2, worker: pairWith(resisting(inner, stop)) });
    const error = await failureOf(pool.stop());
    expect(error.message).toBe("worker broken did not stop in time: its process or tasks may still run");
    await inner.stop();
  });

  test("tells nothing of itself, or nonsense, is refused", async () => {
    const metadata = { uid: "broken", address: "here" } as unknown as WorkerMetadata;
    const nonsense = await failureOf(WorkerPool.start({ size: 2, worker: pairWith({ ...base, metadata }) }));
    expect(nonsense).toBeInstanceOf(InvalidArgument);
    expect(nonsense.message).toContain("is not the metadata of a worker");
    const silent = await failureOf(WorkerPool.start({ size: 2, worker: pairWith(base) }));
    expect(silent.message).toContain("worker broken was started but has no metadata to announce");
  });

  test("dies while others start ends the start", async () => {
    const hanging = new LocalWorker({ preload: [fixture("lifecycle/hangs.mjs")] });
    const dying = new LocalWorker();
    let made = 0;
    const starting = failureOf(WorkerPool.start({ size: 2, worker: () => (made++ === 0 ? dying : hanging) }));
    await until(() => dying.metadata !== undefined, "it is started");
    await until(() => newChildren().length === 2, "both run");
    killProcess(dying.metadata?.pid);
    const error = await starting;
    expect(error).toBeInstanceOf(WorkerStartError);
    expect(error.message).toContain(`worker ${dying.uid} was lost: it was ended by SIGKILL`);
  });
});

describe("a discovery or a balancer", () => {
  function makeDiscovery(log: string[]): DiscoveryLike & AsyncDisposable {
    const inner = new LocalDiscovery("custom");
    return {
      publisher: inner.publisher,
      subscribe: (filter) => inner.subscribe(filter),
      [Symbol.asyncDispose]: async () => {
        log.push("discovery disposed of");
        await inner.dispose();
      },
    };
  }
  function makeBalancer(log: string[]): LoadBalancerLike & Disposable {
    const inner = new RoundRobinLoadBalancer();
    return {
      delegate: (task, context) => inner.delegate(task, context),
      [Symbol.dispose]: () => void log.push("balancer disposed of"),
    };
  }
  const forms: [string, <T extends object>(value: T) => T | Promise<T> | (() => T) | (() => Promise<T>)][] = [
    ["an instance", (value) => value],
    ["a promise", (value) => Promise.resolve(value)],
    ["a function", (value) => () => value],
    ["an async function", (value) => async () => value],
  ];

  test.each(forms)("given as %s is used, and disposed of once", async (_form, wrap) => {
    const log: string[] = [];
    const options = { discovery: wrap(makeDiscovery(log)), loadBalancer: wrap(makeBalancer(log)) } as PoolOptions;
    const pool = await WorkerPool.start({ size: 2, ...options });
    const seen = await Promise.all(Array.from({ length: 4 }, () => pool.dispatch(pid)));
    expect(new Set(seen).size).toBe(2);
    expect(log).toEqual([]);
    await Promise.all([pool.stop(), pool.stop()]);
    expect(log.sort()).toEqual(["balancer disposed of", "discovery disposed of"]);
  });

  test.each(forms)("given as %s is disposed of once when a worker cannot be started", async (_form, wrap) => {
    const log: string[] = [];
    const options = { discovery: wrap(makeDiscovery(log)), loadBalancer: wrap(makeBalancer(log)) } as PoolOptions;
    const workerOptions = { execArgv: ["--no-such-option"] };
    expect(await failureOf(WorkerPool.start({ size: 1, workerOptions, ...options }))).toBeInstanceOf(WorkerStartError);
    expect(log.sort()).toEqual(["balancer disposed of", "discovery disposed of"]);
  });

  test("is disposed of when there is something wrong with the other one", async () => {
    const log: string[] = [];
    const failing = (): Promise<never> => Promise.reject(new RangeError("no luck"));
    const first = WorkerPool.start({ size: 1, discovery: makeDiscovery(log), loadBalancer: failing });
    expect(await failureOf(first)).toEqual(new RangeError("no luck"));
    const second = WorkerPool.start({ size: 1, discovery: failing, loadBalancer: makeBalancer(log) });
    expect(await failureOf(second)).toEqual(new RangeError("no luck"));
    // @ts-expect-error Not a balancer.
    const third = WorkerPool.start({ size: 1, discovery: makeDiscovery(log), loadBalancer: { pick: () => "a" } });
    expect((await failureOf(third)).message).toContain("loadBalancer must have a method delegate(task, context)");
    // @ts-expect-error Not a discovery.
    const fourth = WorkerPool.start({ size: 1, discovery: { find: () => [] }, loadBalancer: makeBalancer(log) });
    expect((await failureOf(fourth)).message).toContain("is not a discovery: it has no method subscribe(filter)");
    expect(log).toEqual([
      "discovery disposed of",
      "balancer disposed of",
      "discovery disposed of",
      "balancer disposed of",
    ]);
  });

  test("that is never there ends the start", async () => {
    const log: string[] = [];
    const loadBalancer = new Promise<LoadBalancerLike>(() => undefined);
    const starting = WorkerPool.start({ size: 1, discovery: makeDiscovery(log), loadBalancer, quorumTimeout: 50 });
    expect((await failureOf(starting)).message).toContain("was not ready within the quorumTimeout of 50 ms");
    expect(log).toEqual(["discovery disposed of"]);
  });

  test("is not to blame where none was given", async () => {
    const error = await failureOf(WorkerPool.start({ size: 1, quorumTimeout: 0 }));
    expect(error.message).not.toContain("discovery");
    expect(error.message).toContain("0 ms");
  });

  test("that is none is named", async () => {
    const error = await failureOf(WorkerPool.start({ discovery: 5 as unknown as DiscoveryLike }));
    expect(error).toBeInstanceOf(InvalidArgument);
    expect(error.message).toContain("discovery: it is 5: give an object");
  });

  test("that cannot be disposed of is told of when all else is stopped", async () => {
    const discovery = makeDiscovery([]);
    const dispose = discovery[Symbol.asyncDispose];
    discovery[Symbol.asyncDispose] = async () => {
      await dispose();
      throw new RangeError("no disposing");
    };
    const pool = await WorkerPool.start({ size: 1, discovery });
    expect(await failureOf(pool.stop())).toEqual(new RangeError("no disposing"));
  });

  test("that cannot withdraw a worker keeps nothing from being stopped", async () => {
    const inner = makeDiscovery([]);
    const discovery: DiscoveryLike & AsyncDisposable = {
      ...inner,
      publisher: {
        publish: async (type, worker) => {
          if (type === "worker-dropped") throw new RangeError("no withdrawing");
          await inner.publisher?.publish(type, worker);
        },
      },
    };
    const pool = await WorkerPool.start({ size: 2, discovery });
    const call = failureOf(pool.dispatch(routine(async () => await new Promise<never>(() => undefined))));
    await until(() => pool.stats().inFlight === 1, "the call is at a worker");
    await pool.stop();
    expect(await call).not.toBeInstanceOf(WorkerLost);
  });
});
