import { PoolClosed, RpcError } from "../errors.ts";
import {
  type ClientTls,
  GrpcChannel,
  type GrpcChannelOptions,
  GrpcStatusError,
  LoopTimeout,
  StatusCode,
} from "../grpc/index.ts";
import { clientTls, credentialsText, type WorkerCredentialsProvider } from "../security/index.ts";
import { Timer } from "../time/index.ts";
import type { CallerLimits, Welcome } from "../wire/index.ts";
import { errorForConnect, errorForCredentials, errorForStatus } from "./error-classes.ts";
import { LinkWatchdog } from "./link-watchdog.ts";
import { Session } from "./session.ts";

/** Most task threads that a worker may claim to have: each one gets a session. */
const MOST_LANES = 1024;
/**
 * If a reopened session is lost within `SOON_MS`, there is a pause before the next one. Its first and longest value;
 * all in milliseconds.
 */
const SOON_MS = 1000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1000;
/** How long a worker that has accepted a connection has to welcome the caller, in milliseconds. */
const WELCOME_TIMEOUT_MS = 10_000;

/** Told of changes by a link that it shares with others. */
export interface LinkListener {
  /** A session has room for more calls, or one more session is open. */
  progressed(link: WorkerLink): void;
  /** A session ended: the worker is gone, or one of its task threads. Calls in flight are told after this. */
  interrupted(link: WorkerLink, error: Error): void;
}

/** How a link is made. */
export interface LinkOptions {
  /** Milliseconds between keepalive pings. */
  readonly keepaliveInterval?: number | undefined;
  /** Milliseconds that a keepalive ping may go unanswered. */
  readonly keepaliveTimeout?: number | undefined;
  /** Largest message that the worker takes, in bytes. */
  readonly maxMessageBytes?: number | undefined;
  /** Compression of messages, on TCP. */
  readonly compression?: "none" | "gzip" | undefined;
  /** Milliseconds that the worker has to welcome this caller. Default: 10,000. */
  readonly welcomeTimeout?: number | undefined;
  /** For TLS. Default: none, for a worker without TLS. */
  readonly credentials?: WorkerCredentialsProvider | undefined;
  /** How much memory of this process the worker may use. */
  readonly limits?: CallerLimits | undefined;
}

/**
 * The connection of this process to one worker: one HTTP/2 connection with a session for each of its task threads.
 * Shared by all pools and proxies of the process. `idle`: not connected. `connecting`: it is being connected. `ready`:
 * at least one session is open. `closed`: given up for good.
 */
export class WorkerLink {
  readonly address: string;
  readonly #options: LinkOptions;
  readonly #listeners = new Set<LinkListener>();
  #state: "idle" | "connecting" | "ready" | "closed" = "idle";
  #channel: GrpcChannel | undefined;
  #watchdog: LinkWatchdog | undefined;
  #responds = true;
  #connecting: Promise<void> | undefined;
  #sessions: readonly Session[] = [];
  #busySessions = 0;
  #waitedSessions = 0;
  /** Unary calls that have not ended. */
  #unaryCalls = 0;
  #sharesFiles = false;
  /** When the session of a task thread was last reopened, and after which pause. By thread. */
  readonly #reopened = new Map<number, { readonly at: number; readonly pause: number; readonly timer?: Timer }>();
  /** The connection is lost, but sessions still read the rest of their lanes. */
  #isEnding = false;
  /** Called when it is disconnected. */
  #onDisconnected: (() => void)[] = [];
  /** Why it will be closed once it is idle. */
  #retirement: Error | undefined;

  constructor(address: string, options: LinkOptions) {
    this.address = address;
    this.#options = options;
  }

  get state(): "idle" | "connecting" | "ready" | "closed" {
    return this.#state;
  }

  /** Open sessions, one for each task thread of the worker. */
  get sessions(): readonly Session[] {
    return this.#sessions;
  }

  /** False while the worker does not respond although it has calls. */
  get responds(): boolean {
    return this.#responds;
  }

  /** Whether large payloads may pass through files. */
  get sharesFiles(): boolean {
    return this.#sharesFiles;
  }

  /** Calls that were sent to the worker and have not ended. */
  get inFlight(): number {
    let count = 0;
    for (const session of this.#sessions) count += session.inFlight;
    return count;
  }

  /** Whether somebody waits for one of these calls now. That keeps the program alive. */
  get isWaitedFor(): boolean {
    return this.#waitedSessions > 0;
  }

  listen(listener: LinkListener): void {
    this.#listeners.add(listener);
  }

  unlisten(listener: LinkListener): void {
    this.#listeners.delete(listener);
  }

  /** Connects, unless it is connected. Rejects with an `RpcError` that tells why the worker cannot be reached. */
  connect(): Promise<void> {
    if (this.#isEnding) {
      return new Promise<void>((resolve) => this.#onDisconnected.push(resolve)).then(() => this.connect());
    }
    if (this.#state === "ready") return Promise.resolve();
    if (this.#state === "closed") return Promise.reject(new PoolClosed(`the connection to ${this.address} is closed`));
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Runs a unary call of the worker's service. Keeps the program alive until it has ended. */
  async unary(method: "Stop" | "Idle", request: Uint8Array, timeout: number): Promise<Uint8Array> {
    this.#unaryCalls++;
    try {
      await this.connect();
      if (this.#channel === undefined) throw new PoolClosed(`the connection to ${this.address} is closed`);
      this.#keepAlive(this.#channel);
      return await this.#channel.unary(`/wool.v1.Worker/${method}`, request, { timeout });
    } catch (error) {
      throw error instanceof GrpcStatusError ? errorForStatus(error.status, this.address) : error;
    } finally {
      this.#unaryCalls--;
      if (this.#state === "ready" && this.#channel !== undefined) this.#keepAlive(this.#channel);
    }
  }

  /** Resolves when the current connection is lost. Keeps the program alive until then. */
  disconnection(): Promise<void> {
    const channel = this.#channel;
    if (this.#state !== "ready" || channel === undefined) return Promise.resolve();
    this.#active(channel, true);
    this.#waitedFor(channel, true);
    return new Promise((resolve) => this.#onDisconnected.push(resolve));
  }

  /** Closes the connection. Calls in flight end with `error`. */
  close(error: Error): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    for (const session of this.#sessions) session.close(error);
    this.#sessions = [];
    this.#isEnding = false;
    this.#watchdog?.close();
    void this.#channel?.close();
    this.#channel = undefined;
    this.#tellDisconnected();
  }

  /** Closes the connection as soon as no call is in flight: a worker that is leaving may finish its calls. */
  retire(error: Error): void {
    this.#retirement = error;
    this.#closeIfRetired();
  }

  async #open(): Promise<void> {
    this.#state = "connecting";
    const tls = await this.#tls();
    if (this.#isClosed()) throw new PoolClosed(`the connection to ${this.address} is closed`);
    const channel: GrpcChannel = new GrpcChannel(this.address, {
      ...channelOptions(this.address, this.#options),
      ...(tls === undefined ? {} : { tls }),
      onClose: () => this.#lost(channel),
    });
    this.#channel = channel;
    try {
      await channel.connect();
      const first = this.#openSession(channel, 0);
      const { lanes, sharesFiles } = await this.#welcomed(first);
      if (lanes > MOST_LANES) {
        const message = `worker ${this.address} claims to have ${lanes} task threads, and at most ${MOST_LANES} are possible`;
        throw new RpcError(message, StatusCode.OUT_OF_RANGE);
      }
      const others = Array.from({ length: Math.max(0, lanes - 1) }, (_, i) => this.#openSession(channel, i + 1));
      await Promise.all(others.map((session) => this.#welcomed(session)));
      if (this.#isClosed()) throw new PoolClosed(`the connection to ${this.address} is closed`);
      this.#sessions = [first, ...others];
      this.#sharesFiles = sharesFiles;
      this.#state = "ready";
      this.#watch(channel);
      this.#keepAlive(channel);
    } catch (error) {
      if (!this.#isClosed()) this.#state = "idle";
      if (this.#channel === channel) this.#channel = undefined;
      void channel.close();
      throw errorForConnect(error, this.address);
    }
    this.#notify();
  }

  /** Gives up on a worker that accepts connections but does not welcome the caller. */
  #welcomed(session: Session): Promise<Welcome> {
    const { welcomeTimeout = WELCOME_TIMEOUT_MS } = this.#options;
    const message = `it did not welcome this caller within ${welcomeTimeout} ms`;
    const patience = new LoopTimeout(
      () => session.close(errorForStatus({ code: StatusCode.UNAVAILABLE, message }, this.address)),
      welcomeTimeout,
    );
    return session.welcome.finally(() => patience.clear());
  }

  /** Asked before each connection, because certificates may have been replaced since the last one. */
  async #tls(): Promise<ClientTls | undefined> {
    const { credentials } = this.#options;
    if (credentials === undefined) return undefined;
    try {
      return clientTls(credentialsText(await credentials.load()), credentials.identity);
    } catch (error) {
      if (!this.#isClosed()) this.#state = "idle";
      throw errorForCredentials(error, this.address);
    }
  }

  #watch(channel: GrpcChannel): void {
    this.#watchdog?.close();
    this.#responds = true;
    this.#watchdog = new LinkWatchdog(
      {
        messages: () => this.#sessions.reduce((sum, session) => sum + session.messages, 0),
        ping: (answered) => channel.ping(answered),
      },
      (responds) => this.#responding(responds),
    );
  }

  #responding(responds: boolean): void {
    this.#responds = responds;
    for (const session of this.#sessions) session.window.isShut = !responds || this.#isEnding;
    this.#notify();
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  #openSession(channel: GrpcChannel, lane: number): Session {
    return new Session(
      channel,
      this.address,
      lane,
      {
        progressed: () => this.#notify(),
        activity: (busy) => this.#active(channel, busy),
        waitedFor: (isWaitedFor) => this.#waitedFor(channel, isWaitedFor),
        closed: (session, error) => this.#sessionClosed(channel, session, lane, error),
      },
      this.#options.limits,
      this.#options.maxMessageBytes,
    );
  }

  #notify(): void {
    for (const listener of this.#listeners) listener.progressed(this);
  }

  #waitedFor(channel: GrpcChannel, isWaitedFor: boolean): void {
    if (this.#channel !== channel) return;
    this.#waitedSessions += isWaitedFor ? 1 : -1;
    if (this.#waitedSessions === (isWaitedFor ? 1 : 0)) this.#keepAlive(channel);
  }

  /** A connection keeps the program alive while somebody waits for a call there. */
  #keepAlive(channel: GrpcChannel): void {
    if (this.#waitedSessions + this.#unaryCalls > 0) channel.ref();
    else channel.unref();
  }

  #active(channel: GrpcChannel, busy: boolean): void {
    if (this.#channel !== channel) return;
    this.#busySessions += busy ? 1 : -1;
    if (this.#busySessions !== (busy ? 1 : 0)) return;
    if (this.#watchdog !== undefined) this.#watchdog.busy = busy;
    // Not while a message is being read, so not at once.
    if (!busy && this.#retirement !== undefined) setImmediate(() => this.#closeIfRetired());
  }

  #closeIfRetired(): void {
    if (this.#retirement !== undefined && this.inFlight === 0) this.close(this.#retirement);
  }

  #sessionClosed(channel: GrpcChannel, session: Session, lane: number, error: Error): void {
    if (this.#state !== "ready" || this.#channel !== channel) return;
    this.#sessions = this.#sessions.filter((other) => other !== session);
    for (const listener of this.#listeners) listener.interrupted(this, error);
    if (channel.state === "ready") this.#reopenSession(channel, lane);
    else if (this.#sessions.length === 0) this.#disconnected(channel);
  }

  /** The connection is lost. Sessions that have lanes end when they have read what is left there. */
  #lost(channel: GrpcChannel): void {
    if (this.#channel !== channel || this.#state !== "ready") return;
    if (this.#sessions.length === 0) return this.#disconnected(channel);
    this.#isEnding = true;
    for (const session of this.#sessions) session.window.isShut = true;
  }

  /**
   * Reopens the session of a task thread that ended: the worker replaces such a thread. Does so at once, unless threads
   * keep ending: a faulty worker may report that all the time.
   */
  #reopenSession(channel: GrpcChannel, lane: number): void {
    const at = performance.now();
    const last = this.#reopened.get(lane);
    const isSoon = last !== undefined && at < last.at + last.pause + SOON_MS;
    const pause = isSoon ? Math.min(Math.max(FIRST_PAUSE_MS, 2 * last.pause), LONGEST_PAUSE_MS) : 0;
    if (pause === 0) {
      this.#reopened.set(lane, { at, pause });
      this.#openAnew(channel, lane);
      return;
    }
    const timer = new Timer(pause, () => {
      if (this.#channel === channel && this.#state === "ready") this.#openAnew(channel, lane);
    });
    this.#reopened.set(lane, { at, pause, timer });
  }

  #openAnew(channel: GrpcChannel, lane: number): void {
    let session: Session;
    try {
      session = this.#openSession(channel, lane);
    } catch {
      // The worker is shutting down: the connection ends by itself.
      return;
    }
    this.#welcomed(session).then(
      () => {
        if (this.#channel !== channel) return;
        session.window.isShut = !this.#responds;
        this.#sessions = [...this.#sessions, session];
        this.#notify();
      },
      () => void channel.close(),
    );
  }

  #disconnected(channel: GrpcChannel): void {
    if (this.#channel !== channel || this.#state !== "ready") return;
    this.#state = "idle";
    this.#channel = undefined;
    this.#isEnding = false;
    this.#watchdog?.close();
    this.#responds = true;
    this.#sessions = [];
    this.#busySessions = 0;
    this.#waitedSessions = 0;
    this.#tellDisconnected();
    this.#closeIfRetired();
  }

  #tellDisconnected(): void {
    for (const { timer } of this.#reopened.values()) timer?.clear();
    this.#reopened.clear();
    for (const tell of this.#onDisconnected.splice(0)) tell();
  }
}

function channelOptions(address: string, options: LinkOptions): GrpcChannelOptions {
  const { keepaliveInterval, keepaliveTimeout, compression } = options;
  return {
    ...(keepaliveInterval === undefined ? {} : { keepaliveInterval }),
    ...(keepaliveTimeout === undefined ? {} : { keepaliveTimeout }),
    ...(compression === "gzip" && !address.startsWith("unix:") ? { compression } : {}),
  };
}
