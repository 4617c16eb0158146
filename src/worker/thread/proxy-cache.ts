import { discoveryFor, readScope, WorkerProxy } from "../../proxy/index.ts";
import type { CallCarrier, CallOptions, RoutineSpec } from "../../routine/index.ts";

/** The ways from a worker back to the pools that its tasks came from; one that is not used for a while is closed. */
export class ProxyCache {
  readonly #ttl: number;
  readonly #carriers = new Map<string, PoolCarrier>();
  /** The same by the very bytes that a session announced, which need no comparison. */
  readonly #byBytes = new WeakMap<Uint8Array, PoolCarrier>();

  /** `ttl`: milliseconds without use after which a proxy is closed. */
  constructor(ttl: number) {
    this.#ttl = ttl;
  }

  carrier(pool: Uint8Array): CallCarrier {
    let carrier = this.#byBytes.get(pool);
    if (carrier === undefined) {
      const key = Buffer.from(pool).toString("latin1");
      carrier = this.#carriers.get(key) ?? new PoolCarrier(pool, this.#ttl);
      this.#carriers.set(key, carrier);
      this.#byBytes.set(pool, carrier);
    }
    return carrier;
  }
}

/** Dispatches to one pool through a proxy that is made when it is first needed. */
class PoolCarrier implements CallCarrier {
  readonly #pool: Uint8Array;
  readonly #ttl: number;
  #proxy: WorkerProxy | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #usedAt = 0;

  constructor(pool: Uint8Array, ttl: number) {
    this.#pool = pool;
    this.#ttl = ttl;
  }

  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown> {
    return this.#use().call(spec, args, options);
  }

  stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown> {
    return this.#use().stream(spec, args, options);
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
