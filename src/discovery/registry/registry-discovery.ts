import { asError, isError } from "../../checks/index.ts";
import { DiscoveryError } from "../../errors.ts";
import { Timer } from "../../time/index.ts";
import { Backoff } from "../backoff.ts";
import {
  checkPublication,
  type DiscoveryEventType,
  type DiscoveryLike,
  type DiscoveryPublisherLike,
  type DiscoverySubscriberLike,
  disposedError,
  type WorkerFilter,
} from "../discovery.ts";
import { advertisedWorker, hostReach, splitAddress } from "../network-addresses.ts";
import { type WorkerMetadata, workerToJson } from "../worker-metadata.ts";
import { subscribeToWorkers, type WorkerSink } from "../worker-subscription.ts";
import { RegistryEntries } from "./registry-entries.ts";

/** Events of a session, for its discovery. */
export interface RegistryEvents {
  /**
   * These are all entries: the text of each by its uid. `data` names the data of the registry. It is the same in all
   * sessions, unless the registry loses its data.
   */
  entries(all: ReadonlyMap<string, string>, data: string): void;
  /** One entry has changed; `undefined` when it is gone. */
  changed(uid: string, text: string | undefined): void;
  /** The session has ended without being closed. */
  lost(error: Error): void;
}

/** A connection to a registry. Its entries expire some time after it has ended. */
export interface RegistrySession {
  /** The address by which the registry sees this machine, if that is known. */
  readonly localAddress: string | undefined;
  /** Writes an entry. Returns the earlier entry of another publisher, if there was one. */
  put(uid: string, text: string): Promise<string | undefined>;
  remove(uid: string): Promise<void>;
  /** Reports all entries, and then each change. */
  follow(): Promise<void>;
  /** Withdraws the entries of this session and ends it. Never rejects. */
  close(): Promise<void>;
  /** Ends the session. Its entries stay for the next session, or until they expire. */
  leave(): void;
}

/** How a registry is used. */
export interface RegistryOptions {
  /** The name of the registry in messages, such as `etcd at 10.0.0.1:2379`. */
  readonly what: string;
  /** Milliseconds that connecting may take. */
  readonly connectTimeout: number;
  readonly connect: (events: RegistryEvents) => Promise<RegistrySession>;
}

/** The longest pause between tries while somebody waits to write, in milliseconds. */
const LONGEST_PAUSE_MS = 400;

/**
 * A discovery whose workers are entries of a registry: a server that many programs share. `idle`: nobody needs it.
 * `connecting`: a session is being opened. `connected`: there is a session. `waiting`: cannot be reached, until the
 * next try. `disposed`: closed for good.
 */
export class RegistryDiscovery implements DiscoveryLike, AsyncDisposable {
  readonly publisher: DiscoveryPublisherLike;
  readonly #options: RegistryOptions;
  /** The workers published here, as given. */
  readonly #own = new Map<string, WorkerMetadata>();
  readonly #found: RegistryEntries;
  readonly #sinks = new Set<WorkerSink>();
  readonly #turns = new Map<string, Promise<void>>();
  readonly #backoff = new Backoff();
  readonly #warned = new Set<string>();
  #state: "idle" | "connecting" | "connected" | "waiting" | "disposed" = "idle";
  #session: RegistrySession | undefined;
  #isFollowing = false;
  #retry: NodeJS.Timeout | undefined;
  readonly #waiters = new Set<() => void>();
  #failure: Error | undefined;

  /** @internal */
  protected constructor(options: RegistryOptions) {
    this.#options = options;
    this.#found = new RegistryEntries((uid) => {
      for (const sink of this.#sinks) this.#tell(sink, uid);
    });
    this.publisher = { publish: (type, worker) => awaited(this.#publish(type, worker)) };
  }

  /** How many entries were invalid, and were ignored. */
  get ignored(): number {
    return this.#found.ignored;
  }

  /** Why the registry cannot be used at the moment; `undefined` while it can, or before the first try. */
  get problem(): string | undefined {
    return this.#failure === undefined
      ? undefined
      : `${this.#options.what} cannot be reached: ${this.#failure.message}`;
  }

  /** Changes of the workers in the registry. While the registry cannot be reached, the workers known so far stay. */
  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    if (this.#state === "disposed") throw disposedError(`discovery in ${this.#options.what}`);
    return subscribeToWorkers((sink) => {
      if (this.#state === "disposed") {
        sink.end();
        return () => {};
      }
      this.#sinks.add(sink);
      for (const worker of this.#found.workers()) sink.change(worker);
      for (const worker of this.#own.values()) sink.change(this.#advertised(worker));
      this.#connect();
      void this.#follow();
      return async () => {
        this.#sinks.delete(sink);
        await this.#rest();
      };
    }, filter);
  }

  /** Ends the subscriptions and withdraws the workers that were published here. */
  async dispose(): Promise<void> {
    const session = this.#session;
    this.#state = "disposed";
    this.#session = undefined;
    clearTimeout(this.#retry);
    for (const sink of this.#sinks) sink.end();
    this.#sinks.clear();
    this.#own.clear();
    this.#found.clear();
    this.#wakeWaiters();
    if (session !== undefined) await awaited(session.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #publish(type: DiscoveryEventType, worker: WorkerMetadata): Promise<void> {
    checkPublication(type, worker);
    if (type === "worker-dropped") return this.#withdraw(worker.uid);
    if (this.#state === "disposed") throw disposedError(`discovery in ${this.#options.what}`);
    const { uid } = worker;
    const before = this.#own.get(uid);
    this.#own.set(uid, worker);
    for (const sink of this.#sinks) sink.change(this.#advertised(worker));
    try {
      if (this.#isForOthers(worker)) await this.#write(worker);
    } catch (error) {
      // A worker that was announced before is announced again when the registry is back.
      if (before === undefined && this.#own.get(uid) === worker) {
        this.#own.delete(uid);
        for (const sink of this.#sinks) this.#tell(sink, uid);
        await this.#rest();
      }
      throw error;
    }
  }

  /** Writes an entry as soon as there is a session. Throws `DiscoveryError` when there is none in time. */
  async #write(worker: WorkerMetadata): Promise<void> {
    const deadline = performance.now() + this.#options.connectTimeout;
    for (;;) {
      const session = await this.#connected(deadline, worker);
      try {
        await this.#put(session, worker.uid);
        return;
      } catch (error) {
        // The write failed because the session was lost: the next session writes all entries.
        if (this.#session === session) throw this.#error(worker, "refuses it", error);
      }
    }
  }

  /** Writes the worker as it is published when its turn comes. */
  async #put(session: RegistrySession, uid: string): Promise<void> {
    await this.#inTurn(uid, async () => {
      const worker = this.#own.get(uid);
      if (worker === undefined) return;
      const text = JSON.stringify(workerToJson(advertisedWorker(worker, session.localAddress)));
      const before = await session.put(uid, text);
      if (before !== undefined && before !== text) this.#warnOfTwin(worker, before, session);
    });
  }

  /** Writes of one entry wait for each other: a server may handle two writes in any order. */
  #inTurn(uid: string, operation: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(uid) ?? Promise.resolve()).then(operation);
    const over = turn
      .catch(() => undefined)
      .then(() => {
        if (this.#turns.get(uid) === over) this.#turns.delete(uid);
      });
    this.#turns.set(uid, over);
    return turn;
  }

  async #withdraw(uid: string): Promise<void> {
    this.#own.delete(uid);
    for (const sink of this.#sinks) this.#tell(sink, uid);
    // If the registry cannot be reached, the entry expires by itself.
    const session = this.#session;
    await this.#inTurn(uid, async () => await session?.remove(uid)).catch(() => undefined);
    await this.#rest();
  }

  /** Waits for a session until the deadline. While somebody waits, it tries at once, and then after short pauses. */
  async #connected(deadline: number, worker: WorkerMetadata): Promise<RegistrySession> {
    if (this.#state === "waiting") {
      clearTimeout(this.#retry);
      this.#backoff.reset();
      void this.#tryToConnect();
    }
    this.#connect();
    while (this.#session === undefined) {
      const left = deadline - performance.now();
      if (left <= 0 || this.#state === "disposed") throw this.#notInTime(worker);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          timer.clear();
          this.#waiters.delete(wake);
          resolve();
        };
        const timer = new Timer(left, wake);
        this.#waiters.add(wake);
      });
    }
    return this.#session;
  }

  #connect(): void {
    if (this.#state === "idle") void this.#tryToConnect();
  }

  async #tryToConnect(): Promise<void> {
    this.#state = "connecting";
    let session: RegistrySession | undefined;
    const events: RegistryEvents = {
      entries: (all, data) => {
        if (this.#session === session) this.#found.replace(all, data);
      },
      changed: (uid, text) => {
        if (this.#session === session) this.#found.change(uid, text);
      },
      lost: (error) => {
        if (this.#session === session && session !== undefined) this.#lose(error);
      },
    };
    try {
      session = await this.#options.connect(events);
    } catch (error) {
      if (this.#isConnecting()) this.#lose(asError(error));
      return;
    }
    if (!this.#isConnecting()) return session.close();
    this.#state = "connected";
    this.#session = session;
    this.#isFollowing = false;
    await this.#restore(session);
  }

  /** Brings a new session up to date. */
  async #restore(session: RegistrySession): Promise<void> {
    try {
      const others = Array.from(this.#own.values()).filter((worker) => this.#isForOthers(worker));
      await Promise.all(others.map(({ uid }) => this.#put(session, uid)));
      if (this.#session !== session) return;
      this.#failure = undefined;
      this.#backoff.reset();
      this.#wakeWaiters();
      for (const sink of this.#sinks) for (const uid of this.#own.keys()) this.#tell(sink, uid);
      await this.#follow();
    } catch (error) {
      if (this.#session === session) this.#lose(asError(error));
    }
  }

  /** Makes the session report all entries, if there are subscribers. */
  async #follow(): Promise<void> {
    const session = this.#session;
    if (session === undefined || this.#isFollowing || this.#sinks.size === 0) return;
    this.#isFollowing = true;
    try {
      await session.follow();
    } catch (error) {
      if (this.#session === session) this.#lose(asError(error));
    }
  }

  /** The registry cannot be reached: warns once, and tries again later. */
  #lose(error: Error): void {
    const session = this.#session;
    this.#session = undefined;
    this.#state = "waiting";
    if (this.#failure === undefined) {
      process.emitWarning(
        `${this.#options.what} cannot be reached (${error.message}); the ${this.#found.size} workers known so far stay in use, and connecting is tried again`,
        "WoolWarning",
      );
    }
    this.#failure = error;
    this.#found.pause();
    // The published workers still run. If their entries were withdrawn, others would lose them until they are written
    // again.
    session?.leave();
    const pause = this.#backoff.next();
    const wait = this.#waiters.size > 0 ? Math.min(pause, LONGEST_PAUSE_MS) : pause;
    this.#retry = setTimeout(() => void this.#tryToConnect(), wait);
    // Only a caller that waits for it keeps the program alive.
    this.#retry.unref();
  }

  /** Leaves the registry when nobody needs it any more. */
  async #rest(): Promise<void> {
    if (this.#sinks.size > 0 || this.#own.size > 0 || this.#state === "disposed") return;
    const session = this.#session;
    clearTimeout(this.#retry);
    this.#state = "idle";
    this.#session = undefined;
    this.#failure = undefined;
    this.#found.clear();
    if (session !== undefined) await awaited(session.close());
  }

  /** Tells a subscriber the current state of a uid. */
  #tell(sink: WorkerSink, uid: string): void {
    const own = this.#own.get(uid);
    const worker = own === undefined ? this.#found.worker(uid) : this.#advertised(own);
    if (worker === undefined) sink.drop(uid);
    else sink.change(worker);
  }

  #advertised(worker: WorkerMetadata): WorkerMetadata {
    return advertisedWorker(worker, this.#session?.localAddress);
  }

  /** Whether other processes can use the worker. Warns if other machines cannot. */
  #isForOthers({ uid, address }: WorkerMetadata): boolean {
    const { host } = splitAddress(address) ?? {};
    if (host === undefined) {
      this.#warnOnce(
        uid,
        `worker ${uid} is not announced in ${this.#options.what}: it listens on a unix socket, which no other machine can reach. Give it a host to listen on, such as "0.0.0.0"`,
      );
    } else if (hostReach(host) === "loopback") {
      this.#warnOnce(
        uid,
        `worker ${uid} is announced in ${this.#options.what} but listens on ${host}, where no other machine can reach it. Give it a host to listen on, such as "0.0.0.0"`,
      );
    }
    return host !== undefined;
  }

  #warnOfTwin(worker: WorkerMetadata, text: string, session: RegistrySession): void {
    const other = this.#found.parse(worker.uid, text);
    const { address } = advertisedWorker(worker, session.localAddress);
    if (other === undefined || other.address === address) return;
    this.#warnOnce(
      `twin ${worker.uid}`,
      `worker ${worker.uid} was announced at ${other.address} in ${this.#options.what} and is now at ${address}: if these are two workers, give each its own uid`,
    );
  }

  #warnOnce(about: string, message: string): void {
    if (this.#warned.has(about)) return;
    this.#warned.add(about);
    process.emitWarning(message, "WoolWarning");
  }

  #wakeWaiters(): void {
    for (const wake of Array.from(this.#waiters)) wake();
  }

  #isConnecting(): boolean {
    return this.#state === "connecting";
  }

  #notInTime(worker: WorkerMetadata): DiscoveryError {
    return this.#error(worker, `did not accept it within ${this.#options.connectTimeout} ms`, this.#failure);
  }

  #error({ uid }: WorkerMetadata, problem: string, cause: unknown): DiscoveryError {
    const reason = isError(cause) ? `: ${cause.message}` : "";
    return new DiscoveryError(
      `worker ${uid} cannot be announced: ${this.#options.what} ${problem}${reason}`,
      cause === undefined ? {} : { cause },
    );
  }
}

/** Sessions do not keep the program alive. A caller that waits for one does. */
async function awaited<T>(operation: Promise<T>): Promise<T> {
  const timer = new Timer(Number.POSITIVE_INFINITY, () => undefined);
  try {
    return await operation;
  } finally {
    timer.clear();
  }
}
