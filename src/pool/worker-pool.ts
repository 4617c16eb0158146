import { fromCaller } from "../call/index.ts";
import { checkFunction } from "../checks/index.ts";
import {
  announcingBeside,
  type DiscoveryLike,
  type DiscoveryPublisherLike,
  LocalDiscovery,
  POOL_NAMESPACE,
  POOL_SCHEME,
  tagUrl,
  type WorkerMetadata,
} from "../discovery/index.ts";
import { NoWorkersAvailable, PoolClosed } from "../errors.ts";
import { indexImports } from "../functions/index.ts";
import { availableCores, PoolDirectory } from "../host/index.ts";
import { type BroadcastResult, type PoolStats, WorkerProxy, type WorkerProxyOptions } from "../proxy/index.ts";
import {
  addOpenPool,
  type CallOptions,
  currentCallContext,
  dispatchThrough,
  extendCallContext,
  type RoutineSpec,
  removeOpenPool,
  requireFunctionRoutine,
} from "../routine/index.ts";
import { Deadline } from "../time/index.ts";
import { ResilientWorker, refuseOutsideTasks, stopTimeout, type WorkerOptions } from "../worker/index.ts";
import { warnIfLeftOpen } from "./left-open.ts";
import { checkItems, type ItemCalls, type MapOptions, MapWindow, mapConcurrently, splitMapOptions } from "./map.ts";
import { checkPoolOptions, type PoolOptions } from "./pool-options.ts";
import { makeWorker, SpawnedWorkers } from "./spawned-workers.ts";

const MINIMUM_MAP_CONCURRENCY = 16;
const MAP_CONCURRENCY_PER_WORKER = 8;
const MAXIMUM_MAP_CONCURRENCY = 8192;
/** How long workers may take to start, in milliseconds, unless `quorumTimeout` says otherwise. */
const QUORUM_TIMEOUT_MS = 60_000;

/** Makes a pool that is not started. Set by the class, because the build would rename the class if it named itself. */
let makePool: (options: PoolOptions) => WorkerPool;

/**
 * Workers to run routines on: started, found, used and stopped together.
 * `starting`, `open`, `stopping`: takes no new calls, `stopped`.
 */
export class WorkerPool implements AsyncDisposable {
  readonly #directory: PoolDirectory;
  readonly #options: PoolOptions;
  readonly #deadline = new Deadline();
  readonly #closeWatchers = new Set<() => void>();
  #spawned: SpawnedWorkers | undefined;
  #proxy: WorkerProxy | undefined;
  #state: "starting" | "open" | "stopping" | "stopped" = "starting";
  #stopping: Promise<void> | undefined;
  #forgetLeftOpen: (() => void) | undefined;

  static {
    makePool = (options) => new this(options);
  }

  private constructor(options: PoolOptions) {
    this.#options = options;
    this.#directory = new PoolDirectory();
  }

  /**
   * Starts a pool; resolves when its workers take tasks. Throws `InvalidArgument` for wrong options. Throws
   * `WorkerStartError` with the stderr output of a worker that does not start, and when a worker process calls this
   * while it loads a module. Nothing is left running then.
   */
  static async start(options: PoolOptions = {}): Promise<WorkerPool> {
    checkPoolOptions(options);
    refuseOutsideTasks("WorkerPool.start()");
    const pool = makePool(options);
    try {
      await pool.#start();
    } catch (error) {
      // A failure to stop is a consequence of the first error.
      await pool.stop().catch(() => undefined);
      throw error;
    }
    return pool;
  }

  /**
   * How a `WorkerProxy` in another process finds the workers of this pool: the URL of its discovery if it was given
   * one, with the pool's `tags`, else a place that processes of this machine and user can read.
   */
  get uri(): string {
    const { discovery, tags = [] } = this.#options;
    if (typeof discovery === "string") return tagUrl(discovery, tags);
    return `${POOL_SCHEME}${this.#directory.path}`;
  }

  /** The workers of the pool, by uid: a live view that cannot be changed. */
  get workers(): ReadonlyMap<string, WorkerMetadata> {
    return this.#proxy?.workers ?? new Map();
  }

  /** Runs `fn`: routines called inside use this pool. Throws `InvalidArgument` if `fn` is not a function. */
  run<T>(fn: () => T): T {
    checkFunction(fn, "pool.run()", "a function to run");
    return extendCallContext({ carrier: this }, fn);
  }

  /** Calls a routine on this pool, wherever the call is made. */
  dispatch<A extends unknown[], T>(routine: (...args: A) => T, ...args: A): T {
    return dispatchThrough(this, routine, args);
  }

  /** Calls a routine for each item, with a bound on the number of calls under way. */
  map<T, R>(
    routine: (item: T) => Promise<R>,
    items: Iterable<T> | AsyncIterable<T>,
    options: MapOptions = {},
  ): AsyncIterable<R> {
    const { spec, options: ofRoutine } = requireFunctionRoutine(routine, "pool.map()");
    checkItems(items);
    const { own, call: ofMap } = splitMapOptions(options);
    const call: CallOptions = { ...ofRoutine, ...ofMap };
    // Calls run in the context in which map() was called, even if the results are read elsewhere.
    const context = currentCallContext();
    const outer = call.signal ?? context?.ambient?.signal;
    const callOptions = Object.keys(call).length === 0 ? undefined : call;
    const window = this.#mapWindow(own.concurrency);
    let packer: ItemCalls<T> | undefined;
    const calls: ItemCalls<T> = {
      add: (item, openGroup) => {
        const proxy = this.#proxy;
        if (proxy === undefined || this.#state !== "open") {
          const group = openGroup();
          group.failed(group.add(), fromCaller(this.#closedError()));
          return;
        }
        packer ??= proxy.packer(spec, context, callOptions, () => window.size / (2 * this.workers.size));
        packer.add(item, openGroup);
      },
      flush: () => packer?.flush(),
      drop: () => packer?.drop(),
    };
    return mapConcurrently(items, calls, own, window, {
      signal: outer,
      closed: () => (this.#state === "open" ? undefined : this.#closedError()),
      watchClosed: (changed) => {
        this.#closeWatchers.add(changed);
        return () => this.#closeWatchers.delete(changed);
      },
    });
  }

  /**
   * How many calls of a map may be under way: the given number, or one that adapts. With `maxPending` set, it does not
   * grow.
   */
  #mapWindow(concurrency: number | undefined): MapWindow {
    if (concurrency !== undefined) return new MapWindow(concurrency);
    const least = Math.max(MINIMUM_MAP_CONCURRENCY, MAP_CONCURRENCY_PER_WORKER * this.workers.size);
    return new MapWindow(
      least,
      this.#options.maxPending === undefined ? Math.max(least, MAXIMUM_MAP_CONCURRENCY) : least,
    );
  }

  /** Calls a routine once on every worker. Each worker's outcome is in the list. */
  broadcast<A extends unknown[], R>(routine: (...args: A) => Promise<R>, ...args: A): Promise<BroadcastResult<R>[]> {
    const proxy = this.#proxy;
    if (proxy === undefined || this.#state !== "open") return Promise.reject(this.#closedError());
    return proxy.broadcast(routine, ...args);
  }

  stats(): PoolStats {
    return (
      this.#proxy?.stats() ?? {
        inFlight: 0,
        queued: 0,
        done: 0,
        failed: 0,
        shared: { values: 0, bytes: 0 },
        workers: {},
      }
    );
  }

  /** @internal */
  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown> {
    const proxy = this.#proxy;
    if (proxy === undefined || this.#state !== "open") return Promise.reject(fromCaller(this.#closedError()));
    return proxy.call(spec, args, options);
  }

  /** @internal */
  stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown> {
    const proxy = this.#proxy;
    if (proxy === undefined || this.#state !== "open") return failing(this.#closedError());
    return proxy.stream(spec, args, options);
  }

  /**
   * Stops the pool and the workers that it started. `timeout`, in milliseconds: 0, the default, cancels running tasks
   * at once; a positive number gives them that long; negative or infinite waits for all of them. If called again, the
   * shorter time counts. If a worker, the discovery or the balancer cannot be stopped, it stops the rest and then
   * rejects with the error.
   */
  async stop(options?: { timeout?: number }): Promise<void> {
    const timeout = stopTimeout(options, "pool.stop()");
    this.#deadline.shorten(timeout);
    if (this.#stopping === undefined) this.#stopping = this.#stop();
    else this.#spawned?.hurry(timeout);
    await this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #start(): Promise<void> {
    PoolDirectory.sweepStale().catch(() => undefined);
    const { discovery } = this.#options;
    const size = this.#options.size ?? (discovery === undefined ? availableCores() : 0);
    const proxy = new WorkerProxy(this.#proxyOptions(size), size);
    this.#proxy = proxy;
    const { publisher } = await this.#prepared(proxy);
    const spawned = publisher !== undefined && size > 0 ? this.#spawn(size, proxy, publisher) : Promise.resolve([]);
    const [lost] = await Promise.all([spawned, indexImports()]);
    await Promise.race([proxy.start(), ...lost]);
    this.#state = "open";
    addOpenPool(this);
    this.#forgetLeftOpen = warnIfLeftOpen(size);
  }

  #proxyOptions(size: number): WorkerProxyOptions {
    const { discovery, filter, tags, lease, loadBalancer, lazy, quorum = 1, quorumTimeout, maxPending } = this.#options;
    const { credentials, limits, results } = this.#options;
    const wanted = new Set(tags);
    return {
      discovery:
        discovery === undefined
          ? new LocalDiscovery(POOL_NAMESPACE, { directory: this.#directory.path })
          : size === 0
            ? discovery
            : announcingBeside(discovery, { credentials }),
      filter: (worker) =>
        (wanted.size === 0 || [...worker.tags].some((tag) => wanted.has(tag))) && (filter?.(worker) ?? true),
      quorum: Math.max(quorum, size),
      ...(lease === undefined ? {} : { lease }),
      ...(loadBalancer === undefined ? {} : { loadBalancer }),
      ...(lazy === undefined ? {} : { lazy }),
      ...(quorumTimeout === undefined ? {} : { quorumTimeout }),
      ...(maxPending === undefined ? {} : { maxPending }),
      ...(credentials === undefined ? {} : { credentials }),
      ...(limits === undefined ? {} : { limits }),
      ...(results === undefined ? {} : { results }),
    };
  }

  /** The discovery, once it is ready. The start ends if it never is. */
  async #prepared(proxy: WorkerProxy): Promise<DiscoveryLike> {
    const { quorumTimeout = QUORUM_TIMEOUT_MS } = this.#options;
    const late = new Deadline();
    // With a `quorumTimeout` of 0, a part that is ready already still needs a turn of the event loop.
    late.shorten(Math.max(quorumTimeout, 1));
    const limit = late.passed.then(() => {
      throw new NoWorkersAvailable(
        `the discovery or the balancer was not ready within the quorumTimeout of ${quorumTimeout} ms: the given value ` +
          "is a promise that was not settled by then, or a function that returned one",
      );
    });
    try {
      return await Promise.race([proxy.prepare(), limit]);
    } finally {
      late.clear();
    }
  }

  /** Starts workers. The returned promise rejects when one of them is lost for good. */
  async #spawn(size: number, proxy: WorkerProxy, publisher: DiscoveryPublisherLike): Promise<[Promise<never>]> {
    const { tags = [], workerOptions = {}, worker: factory, quorumTimeout = QUORUM_TIMEOUT_MS } = this.#options;
    const { credentials } = this.#options;
    const options: WorkerOptions = {
      ...(credentials === undefined ? {} : { credentials }),
      ...workerOptions,
      tags: [...tags, ...(workerOptions.tags ?? [])],
    };
    const spin = size * (workerOptions.threads ?? 1) <= availableCores();
    const { promise: lost, reject } = withReject();
    this.#spawned = new SpawnedWorkers({
      make: () =>
        factory === undefined
          ? new ResilientWorker(options, { directory: this.#directory, spin })
          : makeWorker(factory, options),
      publisher,
      startLimit: quorumTimeout,
      ...(workerOptions.shutdownGracePeriod === undefined ? {} : { stopLimit: workerOptions.shutdownGracePeriod }),
      made: (worker) => proxy.reserve(worker.uid, worker.restarts === true),
      present: (worker) => proxy.adopt(worker),
      gone: (uid) => proxy.abandon(uid),
      missed: (uid) => proxy.expect(uid),
      lost: (uid, error) => {
        proxy.giveUp(uid, error);
        reject(error);
      },
    });
    await Promise.race([this.#spawned.start(size), lost]);
    return [lost];
  }

  /** Stops everything, even if a part fails. */
  async #stop(): Promise<void> {
    this.#state = "stopping";
    for (const changed of this.#closeWatchers) changed();
    this.#forgetLeftOpen?.();
    removeOpenPool(this);
    await this.#drain();
    this.#proxy?.close();
    const failures: unknown[] = [];
    const attempt = async (step: () => Promise<void> | undefined): Promise<void> => {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    };
    await attempt(() => this.#spawned?.stop(this.#deadline.left));
    await attempt(() => this.#proxy?.stop());
    await attempt(() => this.#directory.dispose());
    this.#deadline.clear();
    this.#state = "stopped";
    if (failures.length > 1) throw new AggregateError(failures, "parts of the pool could not be stopped");
    if (failures.length === 1) throw failures[0];
  }

  /** Waits for the calls made through this pool, until the time is over. */
  async #drain(): Promise<void> {
    await Promise.race([this.#proxy?.drained(), this.#deadline.passed]);
  }

  #closedError(): PoolClosed {
    return new PoolClosed(
      `the pool is ${this.#state}: calls must be made before it is stopped, or through another pool`,
    );
  }
}

/** A promise that can only reject, and that nobody has to handle. */
function withReject(): { promise: Promise<never>; reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<never>((_, fail) => {
    reject = fail;
  });
  promise.catch(() => undefined);
  return { promise, reject };
}

/** A generator that fails at its first step. */
// oxlint-disable-next-line require-yield
async function* failing(error: Error): AsyncGenerator<never, never, unknown> {
  throw fromCaller(error);
}
