import type { ClientHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { Timer } from "../../time/index.ts";
import { Keepalive } from "../keepalive.ts";
import {
  acceptedEncodings,
  type Compression,
  DEFAULT_MAX_MESSAGE_BYTES,
  DEFAULT_WINDOW_BYTES,
  formatGrpcTimeout,
  frameMessage,
  type GrpcStatus,
  GrpcStatusError,
  StatusCode,
} from "../protocol/index.ts";
import { parseTarget, type Target } from "../target.ts";
import { ChannelError } from "./channel-error.ts";
import { GrpcStream, type GrpcStreamHandlers } from "./client-stream.ts";
import { type ClientTls, connectSession } from "./connect-session.ts";

/** How a channel connects and watches its connection. */
export interface GrpcChannelOptions {
  /** TLS; none by default. */
  readonly tls?: ClientTls;
  /** Milliseconds that connecting may take, until the server has spoken HTTP/2; 10,000 by default. */
  readonly connectTimeout?: number;
  /** Milliseconds between two PINGs; 10,000 by default, 0 sends none. */
  readonly keepaliveInterval?: number;
  /** Milliseconds that the answer to a PING may take before the connection is closed; 5,000 by default. */
  readonly keepaliveTimeout?: number;
  /** Flow-control window of the connection and of each stream, in bytes; 128 KiB by default, and more can deadlock. */
  readonly windowBytes?: number;
  /** Largest message that is accepted, in bytes; 64 MiB by default. */
  readonly maxMessageBytes?: number;
  /** How messages are compressed, in both directions if the server agrees; not by default. */
  readonly compression?: Compression;
  /** Called exactly once when the channel is over, whether it ever connected or not, after its streams got their status. */
  readonly onClose?: (reason: ChannelError) => void;
}

/** Extra request header fields, names in lower case. */
export type GrpcHeaders = Readonly<Record<string, string>>;

/** One connection to one gRPC server. It connects once: when it is lost, make a new channel. */
export class GrpcChannel {
  /** The target as given. */
  readonly target: string;
  readonly #target: Target;
  readonly #options: GrpcChannelOptions;
  readonly #maxMessageBytes: number;
  readonly #streams = new Set<GrpcStream>();
  #state: "idle" | "connecting" | "ready" | "closed" = "idle";
  #connecting: Promise<void> | undefined;
  #socket: Socket | undefined;
  #session: ClientHttp2Session | undefined;
  #keepalive: Keepalive | undefined;
  #closeReason: ChannelError | undefined;
  #unreferenced = false;

  /** @throws TypeError for a malformed target. */
  constructor(target: string, options: GrpcChannelOptions = {}) {
    this.target = target;
    this.#target = parseTarget(target);
    this.#options = options;
    this.#maxMessageBytes = options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES;
  }

  /** `idle`, `connecting`, `ready`, `draining` (the server accepts no new streams, running ones go on) or `closed`. */
  get state(): "idle" | "connecting" | "ready" | "draining" | "closed" {
    return this.#state === "ready" && this.#session?.closed === true ? "draining" : this.#state;
  }

  /**
   * Connects, once; later calls get the same promise.
   *
   * @throws ChannelError when the connection cannot be made (`connected` is false), was lost or was closed.
   */
  connect(): Promise<void> {
    if (this.#closeReason !== undefined && this.#closeReason.connected) return Promise.reject(this.#closeReason);
    this.#connecting ??= this.#closeReason === undefined ? this.#connect() : Promise.reject(this.#closeReason);
    return this.#connecting;
  }

  /**
   * Opens a bidirectional stream on a connected channel.
   *
   * @throws ChannelError when the channel is not connected or the server accepts no more streams. Nothing was sent
   * then.
   */
  openStream(path: string, handlers: GrpcStreamHandlers, headers?: GrpcHeaders): GrpcStream {
    const session = this.#session;
    if (this.state !== "ready" || session === undefined || session.destroyed) throw this.#notReady();
    const { compression } = this.#options;
    const reset = new AbortController();
    const http2Stream = session.request(
      {
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
        "grpc-accept-encoding": acceptedEncodings(compression),
        ...(compression === undefined ? {} : { "grpc-encoding": compression }),
        ...headers,
      },
      { endStream: false, signal: reset.signal },
    );
    const stream = new GrpcStream(http2Stream, reset, handlers, this.#maxMessageBytes, compression, {
      lossStatus: () => this.#lossStatus(),
      streamEnded: (ended) => this.#streams.delete(ended),
    });
    this.#streams.add(stream);
    return stream;
  }

  /**
   * Calls a method with one request and one response. Connects first if necessary.
   *
   * @param options.timeout Milliseconds from when the channel is connected; none by default.
   * @throws GrpcStatusError with the call's status, a `ChannelError` when the channel does not connect.
   */
  async unary(
    path: string,
    request: Uint8Array,
    options: { readonly timeout?: number; readonly headers?: GrpcHeaders } = {},
  ): Promise<Uint8Array> {
    await this.connect();
    const { timeout } = options;
    const headers = timeout === undefined ? {} : { "grpc-timeout": formatGrpcTimeout(timeout) };
    return new Promise((resolve, reject) => {
      let response: Uint8Array | undefined;
      let timer: Timer | undefined;
      const stream = this.openStream(
        path,
        {
          message(buffer, start, end) {
            if (response !== undefined) {
              throw new GrpcStatusError(StatusCode.INTERNAL, `the server sent a second response to ${path}`);
            }
            response = buffer.subarray(start, end);
          },
          status({ code, message }) {
            timer?.clear();
            if (code !== StatusCode.OK) reject(new GrpcStatusError(code, message));
            else if (response !== undefined) resolve(response);
            else reject(new GrpcStatusError(StatusCode.INTERNAL, `the server sent no response to ${path}`));
          },
        },
        { ...headers, ...options.headers },
      );
      if (timeout !== undefined) {
        timer = new Timer(timeout, () =>
          stream.abandon({
            code: StatusCode.DEADLINE_EXCEEDED,
            message: `${path} did not answer within ${timeout} ms`,
          }),
        ).unref();
      }
      stream.send(frameMessage(request));
      stream.halfClose();
    });
  }

  /** The address of this machine that the server sees; `undefined` while there is no connection, or it is a unix socket. */
  get localAddress(): string | undefined {
    return this.#socket?.localAddress;
  }

  /** Asks the server to answer with an HTTP/2 PING. Without a connection nothing is asked. */
  ping(answered: () => void): void {
    const session = this.#session;
    if (this.#state !== "ready" || session === undefined || session.destroyed) return;
    session.ping((error) => {
      if (error === null) answered();
    });
  }

  /** Lets the connection keep the process alive, which is the default. */
  ref(): void {
    this.#unreferenced = false;
    this.#socket?.ref();
  }

  /** Lets the process exit although the channel is open. */
  unref(): void {
    this.#unreferenced = true;
    this.#socket?.unref();
  }

  /** Closes the channel at once; running streams get CANCELLED. Resolves when the socket is closed. */
  close(): Promise<void> {
    this.#end(
      new ChannelError(
        StatusCode.CANCELLED,
        "closed",
        this.#state === "ready",
        `the channel to ${this.target} was closed by this side. Open a new one.`,
      ),
    );
    const socket = this.#socket;
    if (socket === undefined || socket.closed) return Promise.resolve();
    return new Promise((resolve) => {
      socket.once("close", () => resolve());
    });
  }

  async #connect(): Promise<void> {
    this.#state = "connecting";
    const pending = connectSession({
      target: this.#target,
      targetText: this.target,
      tls: this.#options.tls,
      timeout: this.#options.connectTimeout ?? 10_000,
      windowBytes: this.#options.windowBytes ?? DEFAULT_WINDOW_BYTES,
    });
    this.#socket = pending.socket;
    if (this.#unreferenced) pending.socket.unref();
    let session: ClientHttp2Session;
    try {
      session = await pending.session;
    } catch (error) {
      if (error instanceof ChannelError) this.#end(error);
      throw this.#closeReason ?? error;
    }
    if (this.#closeReason !== undefined || session.destroyed) {
      session.destroy();
      this.#end(this.#lost(false));
      throw this.#closeReason ?? this.#lost(false);
    }
    this.#watch(session);
  }

  #watch(session: ClientHttp2Session): void {
    this.#state = "ready";
    this.#session = session;
    let cause: Error | undefined;
    session.on("error", (error) => {
      cause = error;
    });
    session.on("close", () => this.#end(this.#lost(true, cause)));
    const interval = this.#options.keepaliveInterval ?? 10_000;
    const timeout = this.#options.keepaliveTimeout ?? 5_000;
    this.#keepalive = new Keepalive(session, { interval, timeout }, () => {
      const message = `${this.target} did not answer a keepalive PING within ${timeout} ms, so the connection was closed`;
      this.#end(new ChannelError(StatusCode.UNAVAILABLE, "timeout", true, message));
    });
  }

  /** The one transition to `closed`: frees the connection, ends the streams, then tells the owner. */
  #end(reason: ChannelError): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#closeReason = reason;
    this.#keepalive?.stop();
    for (const stream of this.#streams) stream.lose(reason.status);
    this.#session?.destroy();
    // A session waits for its pending write, which a frozen peer never reads.
    this.#socket?.destroy();
    this.#options.onClose?.(reason);
  }

  #lost(connected: boolean, cause?: Error): ChannelError {
    const why = cause === undefined ? "the server closed it" : cause.message;
    return new ChannelError(
      StatusCode.UNAVAILABLE,
      "closed",
      connected,
      `the connection to ${this.target} was lost: ${why}`,
      cause,
    );
  }

  #lossStatus(): GrpcStatus | undefined {
    if (this.#closeReason !== undefined) return this.#closeReason.status;
    const lost = this.#socket?.destroyed === true || this.#session?.destroyed === true;
    return lost ? this.#lost(true).status : undefined;
  }

  #notReady(): ChannelError {
    if (this.#closeReason !== undefined) return this.#closeReason;
    if (this.#state === "ready") {
      const message = `${this.target} is shutting down and accepts no new calls. Use another worker.`;
      return new ChannelError(StatusCode.UNAVAILABLE, "closed", true, message);
    }
    const message = `the channel to ${this.target} is ${this.#state}. Await connect() before opening a stream.`;
    return new ChannelError(StatusCode.UNAVAILABLE, "closed", false, message);
  }
}
