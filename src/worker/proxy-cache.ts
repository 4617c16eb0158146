import { discoveryFor, readScope } from "../proxy/pool-address.ts";
import { WorkerProxy } from "../proxy/worker-proxy.ts";
import type { Dispatcher } from "../routine/dispatcher.ts";
import type { CallOptions } from "../routine/options.ts";
import { currentFrame } from "../routine/frame.ts";
import type { RoutineSpec } from "../routine/routine-spec.ts";
import { RunningTask } from "./running-task.ts";

/** Told when a task waits for a call that it made, and when it goes on. */
export interface NestedCalls {
  waits(task: RunningTask): void;
  goesOn(task: RunningTask): void;
}

/** The ways from a worker back to the pools that its tasks came from; one that is not used for a while is closed. */
export class ProxyCache {
  readonly #ttl: number;
  readonly #nested: NestedCalls;
  readonly #dispatchers = new Map<string, PoolDispatcher>();
  /** The same by the very bytes that a session announced, which need no comparison. */
  readonly #byBytes = new WeakMap<Uint8Array, PoolDispatcher>();

  /** `ttl`: milliseconds without use after which a proxy is closed. */
  constructor(ttl: number, nested: NestedCalls) {
    this.#ttl = ttl;
    this.#nested = nested;
  }

  dispatcher(pool: Uint8Array): Dispatcher {
    let dispatcher = this.#byBytes.get(pool);
    if (dispatcher === undefined) {
      const key = Buffer.from(pool).toString("latin1");
      dispatcher = this.#dispatchers.get(key) ?? new PoolDispatcher(pool, this.#ttl, this.#nested);
      this.#dispatchers.set(key, dispatcher);
      this.#byBytes.set(pool, dispatcher);
    }
    return dispatcher;
  }
}

/** Dispatches to one pool through a proxy that is made when it is first needed. */
class PoolDispatcher implements Dispatcher {
  readonly #pool: Uint8Array;
  readonly #ttl: number;
  readonly #nested: NestedCalls;
  #proxy: WorkerProxy | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #usedAt = 0;

  constructor(pool: Uint8Array, ttl: number, nested: NestedCalls) {
    this.#pool = pool;
    this.#ttl = ttl;
    this.#nested = nested;
  }

  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown> {
    return this.#whileWaiting(() => this.#use().call(spec, args, options));
  }

  stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown> {
    const stream = this.#use().stream(spec, args, options);
    const wrapped: AsyncGenerator<unknown, unknown, unknown> = {
      next: (...value) => this.#whileWaiting(() => stream.next(...value)),
      return: (value) => this.#whileWaiting(() => stream.return(value)),
      throw: (error) => this.#whileWaiting(() => stream.throw(error)),
      [Symbol.asyncIterator]: () => wrapped,
      [Symbol.asyncDispose]: async () => {
        await wrapped.return(undefined);
      },
    };
    return wrapped;
  }

  /** The calling task gives its place to another while it waits, or tasks that call tasks could wait for each other. */
  #whileWaiting<T>(call: () => Promise<T>): Promise<T> {
    const task = currentFrame()?.task;
    if (!(task instanceof RunningTask)) return call();
    this.#nested.waits(task);
    const answer = call();
    const goOn = (): void => this.#nested.goesOn(task);
    answer.then(goOn, goOn);
    return answer;
  }

  #use(): WorkerProxy {
    this.#usedAt = performance.now();
    if (this.#proxy === undefined) {
      this.#proxy = new WorkerProxy({ discovery: discoveryFor(readScope(this.#pool)) });
      this.#expireIn(this.#ttl);
    }
    return this.#proxy;
  }

  #expireIn(delay: number): void {
    this.#expiry = setTimeout(() => {
      const proxy = this.#proxy;
      if (proxy === undefined) return;
      const idle = performance.now() - this.#usedAt;
      const { inFlight, queued } = proxy.stats();
      if (idle < this.#ttl || inFlight + queued > 0) {
        this.#expireIn(Math.max(this.#ttl - idle, this.#ttl / 10));
        return;
      }
      this.#proxy = undefined;
      void proxy.stop();
    }, delay);
    this.#expiry.unref();
  }
}
