import { SerializationError } from "../../errors.ts";
import { Roster, readRosterNews, type WorkerProxy } from "../../proxy/index.ts";
import { type CallCarrier, type CallOptions, failingStream, type RoutineSpec } from "../../routine/index.ts";
import { Timer } from "../../time/index.ts";
import type { ProcessCredentials } from "../shared/index.ts";
import { createOwnCredentials, type OwnCredentials, openPoolProxy } from "./pool-proxy.ts";

/** A pool as a session announces it. */
export interface AnnouncedPool {
  /** The fingerprint of the announcer's certificate; undefined without one. */
  readonly announcer: string | undefined;
  /** Its members, or those that changed, encoded. */
  readonly description: Uint8Array;
  /** Makes the balancer of the pool; undefined for the default one. */
  readonly balancer: (() => Promise<unknown>) | undefined;
}

/** A pool that a session has announced, until the session gives it back. */
export interface SessionPool extends CallCarrier {
  /** How many bytes of the announcements of sessions are kept. */
  readonly size: number;
  release(): void;
}

/** Shortest time between two checks whether a proxy is still in use, in milliseconds. */
const SHORTEST_LOOK_MS = 100;

/** Proxies to the pools that the tasks of a worker came from. A proxy that is not used for a while is closed. */
export class ProxyCache {
  readonly #ttl: number;
  /** By the announcer's fingerprint and the pool's id. An id may be long, so it is kept once. */
  readonly #carriers = new Map<string | undefined, Map<string, PoolCarrier>>();
  #credentials: OwnCredentials | undefined;

  /** `ttl`: milliseconds without use after which a proxy is closed. */
  constructor(ttl: number) {
    this.#ttl = ttl;
  }

  /** Uses these credentials for new connections. Open connections stay. */
  useCredentials(credentials: ProcessCredentials): void {
    this.#credentials ??= createOwnCredentials();
    this.#credentials.replace(credentials);
  }

  /**
   * The pool that a session announced, or changed. `known`: what the session announced it as before. Throws
   * `UnexpectedResponse` for an invalid announcement. The session gives the pool back with `release`.
   */
  announce({ announcer, description, balancer }: AnnouncedPool, known: SessionPool | undefined): SessionPool {
    const news = readRosterNews(description);
    if (known instanceof PoolCarrier && known.roster.id === news.id) {
      known.roster.apply(news);
      return known;
    }
    known?.release();
    // Pools are kept apart by announcer, so that one announcer cannot redirect the calls of tasks of another.
    const { id } = news;
    const carriers = this.#carriers.get(announcer) ?? new Map<string, PoolCarrier>();
    this.#carriers.set(announcer, carriers);
    let carrier = carriers.get(id);
    if (carrier === undefined) {
      carrier = new PoolCarrier(
        new Roster(id),
        this.#ttl,
        () => this.#credentials,
        balancer,
        () => {
          carriers.delete(id);
          if (carriers.size === 0) this.#carriers.delete(announcer);
        },
      );
      carriers.set(id, carrier);
    }
    carrier.retain();
    carrier.roster.apply(news);
    return carrier;
  }
}

/** Dispatches to one pool through a proxy that is made when it is first needed. */
class PoolCarrier implements SessionPool {
  /** The members of the pool, as the sessions report them. */
  readonly roster: Roster;
  readonly #ttl: number;
  readonly #credentials: () => OwnCredentials | undefined;
  readonly #balancer: (() => Promise<unknown>) | undefined;
  readonly #unused: () => void;
  /** Sessions that have announced the pool. */
  #sessions = 0;
  #proxy: WorkerProxy | undefined;
  #usedAt = 0;

  /** `unused` is called when no session knows the pool any more, and no call is under way. */
  constructor(
    roster: Roster,
    ttl: number,
    credentials: () => OwnCredentials | undefined,
    balancer: (() => Promise<unknown>) | undefined,
    unused: () => void,
  ) {
    this.roster = roster;
    this.#ttl = ttl;
    this.#credentials = credentials;
    this.#balancer = balancer;
    this.#unused = unused;
  }

  get size(): number {
    return this.roster.size;
  }

  retain(): void {
    this.#sessions++;
  }

  /** A session that announced the pool is over. */
  release(): void {
    this.#sessions--;
    this.#tellIfUnused();
  }

  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown> {
    const { refusal } = this.roster;
    if (refusal !== undefined) return Promise.reject(new SerializationError(refusal, "loadBalancer"));
    return this.#use().call(spec, args, options);
  }

  stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown> {
    const { refusal } = this.roster;
    if (refusal !== undefined) return failingStream(new SerializationError(refusal, "loadBalancer"));
    return this.#use().stream(spec, args, options);
  }

  #use(): WorkerProxy {
    this.#usedAt = performance.now();
    if (this.#proxy === undefined) {
      this.#proxy = openPoolProxy(this.roster, this.#credentials(), this.#balancer);
      this.#expireIn(this.#ttl);
    }
    return this.#proxy;
  }

  #tellIfUnused(): void {
    if (this.#sessions === 0 && this.#proxy === undefined) this.#unused();
  }

  #expireIn(delay: number): void {
    new Timer(delay, () => {
      const proxy = this.#proxy;
      if (proxy === undefined) return;
      const idle = performance.now() - this.#usedAt;
      const { inFlight, queued } = proxy.stats();
      if (idle < this.#ttl || inFlight + queued > 0) {
        this.#expireIn(Math.max(this.#ttl - idle, this.#ttl / 10, SHORTEST_LOOK_MS));
        return;
      }
      this.#proxy = undefined;
      void proxy.stop();
      this.#tellIfUnused();
    }).unref();
  }
}
