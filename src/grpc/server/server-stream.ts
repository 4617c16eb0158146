import type { X509Certificate } from "node:crypto";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { TLSSocket } from "node:tls";
import { Timer } from "../../time/index.ts";
import {
  acceptedEncodings,
  type Compression,
  encodeStatusMessage,
  type GrpcStatus,
  isAccepted,
  MessageCompressor,
  type MessageHandlers,
  MessageStream,
  StatusCode,
} from "../protocol/index.ts";

/** Handlers of the server's end of a stream. */
export interface ServerStreamHandlers extends MessageHandlers {
  /** The client sends no more messages. In-flight work may still be answered; call `end` when it is done. */
  halfClosed?(): void;
  /**
   * The client cancelled, its connection was lost or it sent an invalid message before `end`. Called at most once, and
   * last.
   */
  cancelled?(): void;
}

/** Milliseconds that a client has to close its direction after the status was sent. */
const LINGER_MS = 1000;

/** Milliseconds that a client has to read why its connection ends. */
const FAREWELL_MS = 250;

/**
 * gRPC knows no date. The first one that a process formats loads the time zones of ICU: 0.8 MB of an idle worker.
 */
const WITHOUT_DATE = { sendDate: false };

const OK: GrpcStatus = { code: StatusCode.OK, message: "" };

const connectionNumbers = new WeakMap<object, number>();
let lastConnection = 0;

/** The number of a connection; a new one if it is over. */
function connectionNumber(session: object | undefined): number {
  const known = session === undefined ? undefined : connectionNumbers.get(session);
  if (known !== undefined) return known;
  const number = ++lastConnection;
  if (session !== undefined) connectionNumbers.set(session, number);
  return number;
}

/** The server's end of a bidirectional stream. Nothing is read before `handle`. */
export class ServerStream extends MessageStream {
  /** The method, such as `/wool.v1.Worker/Dispatch`. */
  readonly path: string;
  /** The request's header fields. */
  readonly headers: IncomingHttpHeaders;
  readonly #stream: ServerHttp2Stream;
  /** The value of `grpc-accept-encoding`, and of `grpc-encoding` if messages are compressed. */
  readonly #accepted: string;
  readonly #encoding: Compression | undefined;
  #handlers: ServerStreamHandlers | undefined;
  #halfClosed = false;
  /** The client has ended its direction while its messages are held back. */
  #endsLater = false;
  #linger: NodeJS.Timeout | undefined;
  /** Until the first message, or a half-close without one. */
  #patience: Timer | undefined;

  /** Made by `GrpcServer`. */
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    maxMessageBytes: number,
    requestTimeout: number,
    compression: Compression | undefined,
  ) {
    super(stream, maxMessageBytes);
    this.#accepted = acceptedEncodings(compression);
    this.deframer.accepts = compression;
    if (compression !== undefined && isAccepted(compression, headers["grpc-accept-encoding"])) {
      this.#encoding = compression;
      this.compressor = new MessageCompressor();
    }
    if (requestTimeout !== Number.POSITIVE_INFINITY) {
      this.#patience = new Timer(requestTimeout, () => this.#tooSlow(requestTimeout)).unref();
    }
    this.#stream = stream;
    this.headers = headers;
    this.path = headers[":path"] ?? "";
    const encoding = headers["grpc-encoding"];
    this.deframer.encoding = typeof encoding === "string" ? encoding : undefined;
    stream.on("end", () => this.#readAll());
    stream.on("close", () => this.#closed());
  }

  /** Numbers the connection that the stream is on. */
  get connection(): number {
    return connectionNumber(this.#stream.session);
  }

  /** Who called: `host:port`, or `unix:` for a unix socket. */
  get peer(): string {
    const socket = this.#stream.session?.socket;
    const host = socket?.remoteAddress;
    if (host === undefined) return "unix:";
    return host.includes(":") ? `[${host}]:${socket?.remotePort}` : `${host}:${socket?.remotePort}`;
  }

  /** The client's verified certificate, issued by the server's authority; undefined without mutual TLS. */
  get peerCertificate(): X509Certificate | undefined {
    const socket = this.#stream.session?.socket;
    return socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  }

  /** True after the client cancelled or went away, or the stream ended. */
  get closed(): boolean {
    return this.state === "closed";
  }

  /** Sets the handlers, once, and starts reading. */
  handle(handlers: ServerStreamHandlers): void {
    if (this.#handlers !== undefined) throw new Error(`the stream of ${this.path} already has handlers`);
    this.#handlers = handlers;
    if (this.state === "closed") {
      process.nextTick(() => handlers.cancelled?.());
      return;
    }
    this.startReading(handlers);
  }

  /**
   * Sends one message; see `MessageStream.send`.
   *
   * @throws Error after `end`.
   */
  override send(framed: Uint8Array): boolean {
    if (this.state === "open" && !this.#stream.headersSent) this.#respond();
    return super.send(framed);
  }

  /** Ends the stream with a status, OK by default, after everything that was sent. Later calls do nothing. */
  end(status: GrpcStatus = OK): void {
    if (this.state !== "open") return;
    this.state = "ending";
    this.deframer.stop();
    const fields = {
      "grpc-status": String(status.code),
      ...(status.message === "" ? {} : { "grpc-message": encodeStatusMessage(status.message) }),
    };
    if (this.#stream.headersSent) {
      this.#stream.once("wantTrailers", () => {
        this.#stream.sendTrailers(fields);
        this.#release();
      });
      this.#stream.end();
    } else if (!this.#stream.destroyed && !this.#stream.closed) {
      // Tells a client whose compression was refused which encodings are accepted.
      this.#stream.respond(
        { ":status": 200, "content-type": "application/grpc", "grpc-accept-encoding": this.#accepted, ...fields },
        { endStream: true, ...WITHOUT_DATE },
      );
      this.#release();
    }
  }

  /**
   * Ends the stream with a status, and soon after that the whole connection, because its client exceeded a limit. Data
   * that the client has not read by then is dropped.
   */
  expel(status: GrpcStatus): void {
    this.end(status);
    const { session } = this.#stream;
    setTimeout(() => {
      session?.destroy();
    }, FAREWELL_MS).unref();
  }

  protected override fail(status: GrpcStatus): void {
    const isOver = this.state !== "open";
    this.end(status);
    if (!isOver) this.#handlers?.cancelled?.();
  }

  #respond(): void {
    if (this.#stream.destroyed || this.#stream.closed) return;
    this.#stream.respond(
      {
        ":status": 200,
        "content-type": "application/grpc",
        "grpc-accept-encoding": this.#accepted,
        ...(this.#encoding === undefined ? {} : { "grpc-encoding": this.#encoding }),
      },
      { waitForTrailers: true, ...WITHOUT_DATE },
    );
  }

  /**
   * Discards further messages of the client. A client resets the stream when it has the status; a client that does not
   * is closed after `LINGER_MS`.
   */
  #release(): void {
    this.#stream.resume();
    if (this.#halfClosed) return;
    // Not at once: a reset right after the trailers were queued goes out without them.
    this.#linger = setTimeout(() => this.#stream.close(constants.NGHTTP2_NO_ERROR), LINGER_MS).unref();
  }

  #readAll(): void {
    // Node ends the readable side of a reset stream too; its close follows.
    if (this.#stream.closed || this.#stream.destroyed) return;
    this.#endsLater = this.deframer.holdsBytes;
    if (this.#endsLater) return;
    this.#halfClosed = true;
    if (this.state !== "open") return;
    const { truncation } = this;
    if (truncation !== undefined) this.fail(truncation);
    else this.#handlers?.halfClosed?.();
  }

  protected override released(): void {
    if (this.#endsLater) this.#readAll();
  }

  #tooSlow(requestTimeout: number): void {
    if (this.hasReceived || this.#halfClosed) return;
    this.fail({
      code: StatusCode.DEADLINE_EXCEEDED,
      message: `no request arrived within ${requestTimeout} ms. Send the first message when the call begins.`,
    });
  }

  #closed(): void {
    const before = this.state;
    this.state = "closed";
    this.#patience?.clear();
    this.deframer.stop();
    clearTimeout(this.#linger);
    if (before === "open") this.#handlers?.cancelled?.();
  }
}
