import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { asError, isError } from "../../checks/index.ts";
import {
  AuthenticateRequestSchema,
  AuthenticateResponseSchema,
  DeleteRangeRequestSchema,
  DeleteRangeResponseSchema,
  Event_EventType,
  LeaseGrantRequestSchema,
  LeaseGrantResponseSchema,
  LeaseKeepAliveRequestSchema,
  LeaseKeepAliveResponseSchema,
  LeaseRevokeRequestSchema,
  LeaseRevokeResponseSchema,
  PutRequestSchema,
  PutResponseSchema,
  RangeRequestSchema,
  RangeResponseSchema,
  WatchRequestSchema,
  type WatchResponse,
  WatchResponseSchema,
} from "../../gen/etcdserverpb/rpc_pb.ts";
import {
  ChannelError,
  frameMessage,
  GrpcChannel,
  type GrpcHeaders,
  GrpcStatusError,
  type GrpcStream,
  StatusCode,
} from "../../grpc/index.ts";
import { LONGEST_DELAY_MS } from "../../time/index.ts";
import type { RegistryEvents, RegistrySession, RegistryTls } from "../registry/index.ts";

/** Milliseconds that the server has to answer, and for ending the lease when the session ends. */
const ANSWER_MS = 5000;
const REVOKE_MS = 1000;

/** Makes a server that has lost its cluster report that, instead of blocking. */
const NEEDS_LEADER: GrpcHeaders = { hasleader: "true" };

/** What all sessions with a cluster know about its data. */
export class EtcdHistory {
  #revision = 0n;
  #losses = 0;

  /** Names the data that an answer with this revision belongs to: revisions only grow, unless all data was lost. */
  dataAt(revision: bigint): string {
    if (revision < this.#revision) this.#losses++;
    this.#revision = revision;
    return `data ${this.#losses}`;
  }

  /** A session has seen this revision. */
  heard(revision: bigint): void {
    if (revision > this.#revision) this.#revision = revision;
  }
}

/** How a session is opened. */
export interface EtcdSessionOptions {
  readonly endpoint: string;
  /** What all keys begin with. */
  readonly prefix: string;
  /** The duration of the lease, in seconds. */
  readonly ttl: number;
  readonly connectTimeout: number;
  readonly user: { readonly name: string; readonly password: string } | undefined;
  readonly tls: RegistryTls | undefined;
  readonly history: EtcdHistory;
}

/** A connection to an etcd server, a lease for the entries of this session, and a watch. */
export class EtcdSession implements RegistrySession {
  readonly #options: EtcdSessionOptions;
  readonly #events: RegistryEvents;
  readonly #channel: GrpcChannel;
  #headers = NEEDS_LEADER;
  #signingIn: Promise<void> | undefined;
  #lease: Promise<bigint> | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #watch: GrpcStream | undefined;
  #state: "open" | "closed" = "open";

  private constructor(options: EtcdSessionOptions, events: RegistryEvents) {
    this.#options = options;
    this.#events = events;
    const { endpoint, connectTimeout, tls } = options;
    this.#channel = new GrpcChannel(endpoint, {
      connectTimeout,
      onClose: (reason) => this.#lose(reason),
      ...(tls === undefined ? {} : { tls }),
    });
    this.#channel.unref();
  }

  /** Connects, and signs in if there is a user. */
  static async open(options: EtcdSessionOptions, events: RegistryEvents): Promise<EtcdSession> {
    const session = new EtcdSession(options, events);
    try {
      // The caller that waits for it keeps the program alive.
      await session.#channel.connect();
      await session.#signIn();
      return session;
    } catch (error) {
      session.#state = "closed";
      void session.#channel.close();
      // The error of the channel itself speaks of workers, so its cause is thrown.
      throw error instanceof ChannelError && isError(error.cause) ? error.cause : error;
    }
  }

  get localAddress(): string | undefined {
    return this.#channel.localAddress;
  }

  async put(uid: string, text: string): Promise<string | undefined> {
    this.#lease ??= this.#grantLease().catch((error: unknown) => {
      // The next `put` asks for another lease.
      this.#lease = undefined;
      throw error;
    });
    const lease = await this.#lease;
    const request = { key: this.#key(uid), value: Buffer.from(text), lease, prevKv: true };
    const { prevKv } = await this.#ask("KV/Put", PutRequestSchema, request, PutResponseSchema);
    // An entry that this session wrote before belongs to no other publisher.
    return prevKv === undefined || prevKv.lease === lease ? undefined : Buffer.from(prevKv.value).toString();
  }

  async remove(uid: string): Promise<void> {
    const request = { key: this.#key(uid) };
    await this.#ask("KV/DeleteRange", DeleteRangeRequestSchema, request, DeleteRangeResponseSchema);
  }

  async follow(): Promise<void> {
    const { prefix, history } = this.#options;
    const range = { key: Buffer.from(prefix), rangeEnd: prefixEnd(prefix) };
    const { header, kvs } = await this.#ask("KV/Range", RangeRequestSchema, range, RangeResponseSchema);
    const revision = header?.revision ?? 0n;
    const entries = kvs.map(({ key, value }): [string, string] => [this.#uid(key), Buffer.from(value).toString()]);
    this.#events.entries(new Map(entries), history.dataAt(revision));
    if (this.#state === "closed") return;
    this.#watch?.cancel();
    const watch = this.#channel.openStream(
      "/etcdserverpb.Watch/Watch",
      {
        message: (buffer, start, end) => {
          if (this.#watch === watch) this.#watched(fromBinary(WatchResponseSchema, buffer.subarray(start, end)));
        },
        status: ({ message }) => {
          if (this.#watch === watch) this.#lose(new Error(`the watch has ended: ${message}`));
        },
      },
      this.#headers,
    );
    this.#watch = watch;
    const wanted = { ...range, startRevision: revision + 1n };
    send(watch, WatchRequestSchema, { request: { case: "createRequest", value: wanted } });
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    clearInterval(this.#keepAlive);
    this.#watch?.cancel();
    try {
      const id = await this.#lease;
      if (id !== undefined) {
        await this.#ask("Lease/LeaseRevoke", LeaseRevokeRequestSchema, { id }, LeaseRevokeResponseSchema, REVOKE_MS);
      }
    } catch {
      // The server cannot be reached: the lease expires by itself.
    }
    await this.#channel.close();
  }

  leave(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    clearInterval(this.#keepAlive);
    void this.#channel.close();
  }

  async #signIn(): Promise<void> {
    const { user } = this.#options;
    if (user === undefined) return;
    const bytes = toBinary(AuthenticateRequestSchema, create(AuthenticateRequestSchema, user));
    const response = await this.#send("Auth/Authenticate", bytes, ANSWER_MS, NEEDS_LEADER);
    const { token } = fromBinary(AuthenticateResponseSchema, response);
    this.#headers = { ...NEEDS_LEADER, token };
  }

  /** Signs in once for all requests whose token was refused. */
  async #signInAgain(): Promise<void> {
    this.#signingIn ??= this.#signIn().finally(() => {
      this.#signingIn = undefined;
    });
    await this.#signingIn;
  }

  async #grantLease(): Promise<bigint> {
    const wanted = { ttl: BigInt(this.#options.ttl) };
    const granted = await this.#ask("Lease/LeaseGrant", LeaseGrantRequestSchema, wanted, LeaseGrantResponseSchema);
    const { id, ttl } = granted;
    const stream = this.#channel.openStream(
      "/etcdserverpb.Lease/LeaseKeepAlive",
      {
        message: (buffer, start, end) => {
          const { ttl: left } = fromBinary(LeaseKeepAliveResponseSchema, buffer.subarray(start, end));
          if (left <= 0n) this.#lose(new Error("the lease has ended"));
        },
        status: ({ message }) => this.#lose(new Error(`the lease cannot be kept: ${message}`)),
      },
      this.#headers,
    );
    const keep = (): void => send(stream, LeaseKeepAliveRequestSchema, { id });
    this.#keepAlive = setInterval(keep, Math.min((Number(ttl) * 1000) / 3, LONGEST_DELAY_MS)).unref();
    return id;
  }

  #watched({ header, canceled, cancelReason, compactRevision, events }: WatchResponse): void {
    this.#options.history.heard(header?.revision ?? 0n);
    if (canceled && compactRevision > 0n) {
      // The changes in between are not available any more: read everything, and continue from there.
      this.follow().catch((error: unknown) => this.#lose(asError(error)));
      return;
    }
    if (canceled) return this.#lose(new Error(`the watch was cancelled: ${cancelReason}`));
    for (const { type, kv } of events) {
      if (kv === undefined) continue;
      const text = type === Event_EventType.DELETE ? undefined : Buffer.from(kv.value).toString();
      this.#events.changed(this.#uid(kv.key), text);
    }
  }

  #lose(error: Error): void {
    if (this.#state === "closed") return;
    this.leave();
    this.#events.lost(error);
  }

  async #ask<I extends DescMessage, O extends DescMessage>(
    method: string,
    input: I,
    request: MessageInitShape<I>,
    output: O,
    timeout = ANSWER_MS,
  ): Promise<MessageShape<O>> {
    const bytes = toBinary(input, create(input, request));
    try {
      return fromBinary(output, await this.#send(method, bytes, timeout, this.#headers));
    } catch (error) {
      if (this.#options.user === undefined || !isTokenRefused(error)) throw error;
      await this.#signInAgain();
      return fromBinary(output, await this.#send(method, bytes, timeout, this.#headers));
    }
  }

  async #send(method: string, bytes: Uint8Array, timeout: number, headers: GrpcHeaders): Promise<Uint8Array> {
    return await this.#channel.unary(`/etcdserverpb.${method}`, bytes, { timeout, headers });
  }

  #key(uid: string): Buffer {
    return Buffer.from(this.#options.prefix + encodeURIComponent(uid));
  }

  #uid(key: Uint8Array): string {
    const name = Buffer.from(key).toString().slice(this.#options.prefix.length);
    try {
      return decodeURIComponent(name);
    } catch {
      // This program did not write this key. Its entry is invalid too.
      return name;
    }
  }
}

/** Whether a request needs another token: they expire, by default after five minutes, and when users or roles change. */
function isTokenRefused(error: unknown): boolean {
  if (!(error instanceof GrpcStatusError)) return false;
  return error.code === StatusCode.UNAUTHENTICATED || error.message.includes("revision of auth store is old");
}

/** The first key that does not begin with `prefix`. */
function prefixEnd(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  // A prefix ends with "/", so its last byte can be incremented.
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}

function send<I extends DescMessage>(stream: GrpcStream, schema: I, message: MessageInitShape<I>): void {
  stream.send(frameMessage(toBinary(schema, create(schema, message))));
}
