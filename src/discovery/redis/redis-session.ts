import { asError } from "../../checks/index.ts";
import { DiscoveryError } from "../../errors.ts";
import { uniqueName } from "../../host/index.ts";
import { LONGEST_DELAY_MS } from "../../time/index.ts";
import type { RegistryEvents, RegistrySession, RegistryTls } from "../registry/index.ts";

/** Milliseconds that the server has to answer. */
const ANSWER_MS = 5000;
/** Entries that are read in one request. */
const BATCH = 500;

/** Writes an entry, and publishes its uid if it has changed. Returns the earlier entry. */
const PUT = `local before = redis.call("GET", KEYS[1])
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
redis.call("SADD", KEYS[2], ARGV[3])
if before ~= ARGV[1] then redis.call("PUBLISH", KEYS[3], ARGV[3]) end
return before`;

/** Removes an entry, and publishes its uid. */
const REMOVE = `redis.call("DEL", KEYS[1])
redis.call("SREM", KEYS[2], ARGV[1])
redis.call("PUBLISH", KEYS[3], ARGV[1])
return 1`;

/** Removes an expired entry from the index, unless it is back. */
const TIDY = `if redis.call("EXISTS", KEYS[1]) == 0 then redis.call("SREM", KEYS[2], ARGV[1]) end
return 1`;

/** How a session is opened. */
export interface RedisSessionOptions {
  readonly host: string;
  readonly port: number;
  readonly prefix: string;
  readonly database: number | undefined;
  readonly ttl: number;
  readonly connectTimeout: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls: RegistryTls | undefined;
}

/** The part of the client of `@redis/client` that is used here. */
interface Client {
  connect(): Promise<unknown>;
  sendCommand(command: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  duplicate(): Client;
  destroy(): void;
  unref(): void;
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
}

/** A connection to a Redis server, and a second one for the channel of changes. */
export class RedisSession implements RegistrySession {
  readonly #options: RedisSessionOptions;
  readonly #events: RegistryEvents;
  readonly #client: Client;
  #subscriber: Client | undefined;
  /** The entries of this session, by uid. */
  readonly #own = new Map<string, string>();
  /** Uids of entries that have changed and must be read again, or all of them. */
  readonly #dirty = new Set<string>();
  #isAllDirty = false;
  #reading: Promise<void> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #refresh: NodeJS.Timeout | undefined;
  #localAddress: string | undefined;
  #data = "";
  #state: "open" | "closed" = "open";

  private constructor(options: RedisSessionOptions, events: RegistryEvents, client: Client) {
    this.#options = options;
    this.#events = events;
    this.#client = client;
  }

  static async open(options: RedisSessionOptions, events: RegistryEvents): Promise<RedisSession> {
    const session = new RedisSession(options, events, await makeClient(options));
    try {
      await session.#connect(session.#client);
      session.#localAddress = await session.#addressSeen();
      session.#data = await session.#serverRun();
      return session;
    } catch (error) {
      session.#state = "closed";
      session.#client.destroy();
      throw error;
    }
  }

  get localAddress(): string | undefined {
    return this.#localAddress;
  }

  async put(uid: string, text: string): Promise<string | undefined> {
    const { ttl } = this.#options;
    const isOwn = this.#own.has(uid);
    const before = await this.#run(PUT, uid, text, String(ttl), uid);
    this.#own.set(uid, text);
    this.#heartbeat ??= setInterval(() => this.#guard(this.#beat()), Math.min(ttl / 3, LONGEST_DELAY_MS)).unref();
    return isOwn || typeof before !== "string" ? undefined : before;
  }

  async remove(uid: string): Promise<void> {
    this.#own.delete(uid);
    await this.#run(REMOVE, uid, uid);
  }

  async follow(): Promise<void> {
    if (this.#subscriber === undefined) {
      this.#subscriber = this.#client.duplicate();
      await this.#connect(this.#subscriber);
      await this.#within(this.#subscriber.subscribe(this.#channel, (uid) => this.#changed(uid)));
    }
    await this.#refreshAll();
    // Redis does not publish that an entry expired.
    const refreshIn = Math.min(this.#options.ttl / 3, LONGEST_DELAY_MS);
    this.#refresh ??= setInterval(() => this.#guard(this.#refreshAll()), refreshIn).unref();
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#end();
    try {
      await Promise.all(Array.from(this.#own.keys(), (uid) => this.#run(REMOVE, uid, uid)));
    } catch {
      // The server cannot be reached: the entries expire by themselves.
    }
    this.#destroy();
  }

  leave(): void {
    if (this.#state === "closed") return;
    this.#end();
    this.#destroy();
  }

  async #connect(client: Client): Promise<void> {
    client.on("error", (error) => this.#lose(error ?? new Error("the connection failed")));
    client.on("end", () => this.#lose(new Error("the connection was closed")));
    await client.connect();
    client.unref();
  }

  /** The address of this machine that the server sees, if the server reports it. */
  async #addressSeen(): Promise<string | undefined> {
    try {
      const info = String(await this.#ask("CLIENT", "INFO"));
      return /\baddr=\[?([^\s\]]+?)\]?:\d+\s/.exec(info)?.[1];
    } catch {
      // Redis is older than 6.2, or this user may not ask.
      return undefined;
    }
  }

  /** The run id of the server: a server with another one may have lost its data. */
  async #serverRun(): Promise<string> {
    try {
      const [, run] = /^run_id:(\w+)/m.exec(String(await this.#ask("INFO", "server"))) ?? [];
      return run ?? uniqueName();
    } catch {
      // This user may not ask: the server may be another one each time.
      return uniqueName();
    }
  }

  /** Renews the entries of this session, and writes those again that are gone. */
  async #beat(): Promise<void> {
    const { ttl } = this.#options;
    await Promise.all(
      Array.from(this.#own, async ([uid, text]) => {
        const isThere = await this.#ask("PEXPIRE", this.#key(uid), String(ttl));
        if (Number(isThere) === 0 && this.#own.has(uid)) await this.#run(PUT, uid, text, String(ttl), uid);
      }),
    );
  }

  async #readAll(): Promise<void> {
    const uids = await this.#ask("SMEMBERS", this.#index);
    if (!Array.isArray(uids)) throw new DiscoveryError(`${this.#index} is not a set of workers: use another prefix`);
    const entries = await this.#read(uids.map(String));
    if (this.#state === "closed") return;
    this.#events.entries(entries, this.#data);
    const expired = uids.map(String).filter((uid) => !entries.has(uid));
    await Promise.all(expired.map((uid) => this.#run(TIDY, uid, uid)));
  }

  /** The entries of these uids, without those that do not exist. */
  async #read(uids: readonly string[]): Promise<Map<string, string>> {
    const entries = new Map<string, string>();
    for (let start = 0; start < uids.length; start += BATCH) {
      const batch = uids.slice(start, start + BATCH);
      const texts = await this.#ask("MGET", ...batch.map((uid) => this.#key(uid)));
      if (!Array.isArray(texts)) throw new DiscoveryError("the server did not answer MGET with a list");
      for (const [index, uid] of batch.entries()) {
        const text: unknown = texts[index];
        if (typeof text === "string") entries.set(uid, text);
      }
    }
    return entries;
  }

  /** Reads an entry that was reported as changed, together with others. */
  #changed(uid: string): void {
    this.#dirty.add(uid);
    this.#guard(this.#catchUp());
  }

  #refreshAll(): Promise<void> {
    this.#isAllDirty = true;
    return this.#catchUp();
  }

  /**
   * One read at a time. A change that is reported during a read of everything is read after that, because that read may
   * have missed it.
   */
  #catchUp(): Promise<void> {
    this.#reading ??= this.#readDirty().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readDirty(): Promise<void> {
    while (this.#state === "open" && (this.#isAllDirty || this.#dirty.size > 0)) {
      if (this.#isAllDirty) {
        this.#isAllDirty = false;
        await this.#readAll();
        continue;
      }
      const uids = [...this.#dirty];
      this.#dirty.clear();
      const entries = await this.#read(uids);
      for (const uid of uids) this.#events.changed(uid, entries.get(uid));
    }
  }

  #guard(operation: Promise<void>): void {
    operation.catch((error: unknown) => this.#lose(asError(error)));
  }

  async #run(script: string, uid: string, ...args: string[]): Promise<unknown> {
    return await this.#ask("EVAL", script, "3", this.#key(uid), this.#index, this.#channel, ...args);
  }

  async #ask(...command: string[]): Promise<unknown> {
    return await this.#within(this.#client.sendCommand(command));
  }

  /** A server that does not answer in time counts as gone. */
  async #within<T>(operation: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new DiscoveryError(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS).unref();
    });
    try {
      return await Promise.race([operation, limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  #lose(error: Error): void {
    if (this.#state === "closed") return;
    this.leave();
    this.#events.lost(error);
  }

  #end(): void {
    this.#state = "closed";
    clearInterval(this.#heartbeat);
    clearInterval(this.#refresh);
  }

  #destroy(): void {
    for (const client of [this.#client, this.#subscriber]) {
      try {
        client?.destroy();
      } catch {
        // The connection has already ended.
      }
    }
  }

  // The braces keep all keys of a prefix on one server of a cluster.
  #key(uid: string): string {
    return `{${this.#options.prefix}}:worker:${uid}`;
  }

  get #index(): string {
    return `{${this.#options.prefix}}:workers`;
  }

  get #channel(): string {
    return `{${this.#options.prefix}}:changes`;
  }
}

async function makeClient(options: RedisSessionOptions): Promise<Client> {
  const { host, port, database, username, password, tls, connectTimeout } = options;
  // The client takes 0 to mean no limit.
  const limit = Math.min(Math.max(1, Math.ceil(connectTimeout)), LONGEST_DELAY_MS);
  const socket = { host, port, connectTimeout: limit, reconnectStrategy: false as const };
  const { createClient } = await loadPackage();
  return createClient({
    // Version 3 of the protocol changes the form of answers.
    RESP: 2,
    socket: tls === undefined ? socket : { ...socket, ...tls, tls: true as const },
    disableOfflineQueue: true,
    ...(database === undefined ? {} : { database }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  });
}

async function loadPackage(): Promise<typeof import("@redis/client")> {
  try {
    return await import("@redis/client");
  } catch (cause) {
    throw new DiscoveryError(
      "RedisDiscovery needs the package @redis/client, and it cannot be loaded: run `npm install @redis/client`",
      { cause },
    );
  }
}
