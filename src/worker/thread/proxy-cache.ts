import { createHash } from "node:crypto";
import { discoveryFor, readPoolAddress, WorkerProxy } from "../../proxy/index.ts";
import type { CallCarrier, CallOptions, RoutineSpec } from "../../routine/index.ts";
import { WorkerCredentials, WorkerCredentialsProvider } from "../../security/index.ts";
import { Timer } from "../../time/index.ts";
import type { ProcessCredentials } from "../shared/index.ts";

/** The worker's own credentials, as its proxies ask for them. */
class OwnCredentials {
  #current: WorkerCredentials | undefined;
  #provider: WorkerCredentialsProvider | undefined;

  /** None until there are credentials. */
  get provider(): WorkerCredentialsProvider | undefined {
    return this.#provider;
  }

  replace({ ca, key, cert, mutual, identity }: ProcessCredentials): void {
    const current = new WorkerCredentials({
      ca,
      mutual,
      ...(key === undefined ? {} : { key }),
      ...(cert === undefined ? {} : { cert }),
    });
    this.#current = current;
    this.#provider ??= new WorkerCredentialsProvider(
      () => this.#current ?? current,
      identity === undefined ? {} : { identity },
    );
  }
}

/** Proxies to the pools that the tasks of a worker came from. A proxy that is not used for a while is closed. */
export class ProxyCache {
  readonly #ttl: number;
  /** By the hash of what describes the pool. A carrier is there as long as a session knows the pool, or a proxy is open. */
  readonly #carriers = new Map<string, WeakRef<PoolCarrier>>();
  readonly #gone = new FinalizationRegistry<string>((key) => {
    if (this.#carriers.get(key)?.deref() === undefined) this.#carriers.delete(key);
  });
  readonly #credentials = new OwnCredentials();
  /** The same by the identity of the bytes that a session announced, which saves comparing them. */
  readonly #byBytes = new WeakMap<Uint8Array, PoolCarrier>();

  /** `ttl`: milliseconds without use after which a proxy is closed. */
  constructor(ttl: number) {
    this.#ttl = ttl;
  }

  /** Connects with these from now on; connections that stand go on. */
  useCredentials(credentials: ProcessCredentials): void {
    this.#credentials.replace(credentials);
  }

  carrier(pool: Uint8Array): CallCarrier {
    let carrier = this.#byBytes.get(pool);
    if (carrier === undefined) {
      const key = createHash("sha256").update(pool).digest("base64");
      carrier = this.#carriers.get(key)?.deref();
      if (carrier === undefined) {
        carrier = new PoolCarrier(pool, this.#ttl, this.#credentials);
        this.#carriers.set(key, new WeakRef(carrier));
        this.#gone.register(carrier, key);
      }
      this.#byBytes.set(pool, carrier);
    }
    return carrier;
  }
}

/** Dispatches to one pool through a proxy that is made when it is first needed. */
class PoolCarrier implements CallCarrier {
  readonly #pool: Uint8Array;
  readonly #ttl: number;
  readonly #credentials: OwnCredentials;
  #proxy: WorkerProxy | undefined;
  #usedAt = 0;

  constructor(pool: Uint8Array, ttl: number, credentials: OwnCredentials) {
    this.#pool = pool;
    this.#ttl = ttl;
    this.#credentials = credentials;
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
      const { provider } = this.#credentials;
      this.#proxy = new WorkerProxy({
        discovery: discoveryFor(readPoolAddress(this.#pool)),
        ...(provider === undefined ? {} : { credentials: provider }),
      });
      this.#expireIn(this.#ttl);
    }
    return this.#proxy;
  }

  #expireIn(delay: number): void {
    new Timer(delay, () => {
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
    }).unref();
  }
}
