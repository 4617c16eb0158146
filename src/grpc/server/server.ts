import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import {
  type Compression,
  DEFAULT_MAX_MESSAGE_BYTES,
  DEFAULT_WINDOW_BYTES,
  isGrpcContentType,
  StatusCode,
  statusFromError,
} from "../protocol/index.ts";
import { checkSocketPath } from "../target.ts";
import { SecureDoor, type ServerTls } from "./secure-door.ts";
import { ServedConnection } from "./served-connection.ts";
import { ServerStream } from "./server-stream.ts";
import { serveUnary, type UnaryHandler } from "./unary-call.ts";

/** How a server treats its connections. */
export interface GrpcServerOptions {
  /** TLS; none by default. */
  readonly tls?: ServerTls;
  /** Flow-control window of each connection and stream, in bytes; 128 KiB by default, and more can deadlock. */
  readonly windowBytes?: number;
  /** Largest message that is accepted, in bytes; 64 MiB by default. */
  readonly maxMessageBytes?: number;
  /** The compression that it accepts, and uses for clients that accept it; none by default. */
  readonly compression?: Compression;
  /** Bytes of metadata that a call may have, including 32 for each field; 16 KiB by default. A call with more is refused. */
  readonly maxMetadataBytes?: number;
  /** Streams that one connection may have open; 100 by default. */
  readonly maxConcurrentStreams?: number;
  /** Megabytes that one connection may hold queued before its new streams are refused; 1,000 by default. */
  readonly maxSessionMemory?: number;
  /** Milliseconds in which a new connection must speak TLS and HTTP/2; 10,000 by default. */
  readonly handshakeTimeout?: number;
  /** Milliseconds in which a call must send its first message; 10,000 by default, `Infinity` for any time. */
  readonly requestTimeout?: number;
  /** Milliseconds without a call after which a connection is closed; 300,000 by default, `Infinity` for never. */
  readonly idleTimeout?: number;
  /** Milliseconds between two PINGs to a client; 60,000 by default, `Infinity` sends none. */
  readonly keepaliveInterval?: number;
  /**
   * Milliseconds that the answer to a PING may take before the connection is closed; 240,000 by default, so that a
   * client that a debugger has stopped keeps its connection.
   */
  readonly keepaliveTimeout?: number;
  /** Connections at once, beyond which new ones are dropped; 1,000 by default. */
  readonly maxConnections?: number;
}

/** Where a server listens: a unix socket, or a TCP port (0 for any free one). */
export type ListenAddress = { readonly path: string } | { readonly host: string; readonly port: number };

const DEFAULT_METADATA_BYTES = 16 * 1024;

/** Milliseconds of silence after which the system checks that a TCP peer still responds. */
const TCP_KEEPALIVE_MS = 60_000;

type StreamHandler = (stream: ServerStream) => void;

interface Method {
  readonly handler: StreamHandler;
  readonly maxPerConnection: number;
}

/** A gRPC server on one address. */
export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #methods = new Map<string, Method>();
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #state: "new" | "listening" | "closing" = "new";
  #server: Server | undefined;
  #door: SecureDoor | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: GrpcServerOptions = {}) {
    this.#options = options;
  }

  /**
   * Serves a method with a bidirectional stream. An error of the handler becomes the status. `maxPerConnection`: how
   * many such streams a connection may have open; further ones are refused.
   */
  addStream(path: string, handler: StreamHandler, maxPerConnection = Number.POSITIVE_INFINITY): void {
    this.#methods.set(path, { handler, maxPerConnection });
  }

  /** Serves a method with one request of at most `maxRequestBytes`, and one response. */
  addUnary(path: string, handler: UnaryHandler, maxRequestBytes?: number): void {
    this.addStream(path, (stream) => serveUnary(stream, handler, maxRequestBytes));
  }

  /**
   * Listens, once, and returns the actual address.
   *
   * @throws Error when the address is taken, not allowed or malformed, or the server has listened before.
   */
  async listen<A extends ListenAddress>(address: A): Promise<A> {
    if (this.#state !== "new") throw new Error("this server has listened before. Make a new one for another address.");
    if ("path" in address) checkSocketPath(address.path);
    this.#state = "listening";
    const server = this.#create();
    this.#server = server;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen("path" in address ? { path: address.path } : { host: address.host, port: address.port }, () => {
          server.off("error", reject);
          resolve();
        });
      });
    } catch (error) {
      this.#state = "closing";
      this.#closed = Promise.resolve();
      throw error;
    }
    // Accepting can fail later, when the process is out of descriptors; the server continues.
    server.on("error", () => {});
    const actual = server.address();
    if (typeof actual === "object" && actual !== null) return { ...address, port: actual.port };
    return address;
  }

  /**
   * Uses another certificate for new connections; running ones go on.
   *
   * @throws Error when the server was made without TLS or does not listen.
   */
  setTls(tls: ServerTls): void {
    if (this.#door === undefined) {
      throw new Error("this server was made without TLS, or does not listen: its certificate cannot be replaced");
    }
    this.#door.setTls(tls);
  }

  /**
   * Stops accepting, tells clients to go away, waits for running streams at most `graceMs` milliseconds (0 by default), then
   * destroys every connection. Resolves when no socket is left and the file of a unix socket is removed.
   */
  close(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#closed ??= this.#close(options.graceMs ?? 0);
    return this.#closed;
  }

  #close(graceMs: number): Promise<void> {
    const server = this.#server;
    this.#state = "closing";
    if (server === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#destroyAll(), graceMs);
      server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      for (const session of this.#sessions) session.close();
    });
  }

  #destroyAll(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #create(): Server {
    const { tls, handshakeTimeout = 10_000 } = this.#options;
    if (tls !== undefined) {
      this.#door = new SecureDoor(tls, handshakeTimeout, (socket) => this.#begin(socket));
    }
    const server = createServer((socket) => this.#connected(socket));
    server.maxConnections = this.#options.maxConnections ?? 1000;
    return server;
  }

  #connected(socket: Socket): void {
    if (this.#state === "closing") {
      socket.destroy();
      return;
    }
    socket.setNoDelay(true);
    // The system notices when a caller's host vanished. A caller that a debugger stopped keeps its connection.
    socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => this.#sockets.delete(socket));
    if (this.#door === undefined) this.#begin(socket);
    else this.#door.admit(socket);
  }

  #begin(socket: Socket | TLSSocket): void {
    if (socket.destroyed) return;
    socket.on("error", () => {});
    const { windowBytes = DEFAULT_WINDOW_BYTES, maxConcurrentStreams = 100, handshakeTimeout = 10_000 } = this.#options;
    const session = performServerHandshake(socket, {
      settings: {
        initialWindowSize: windowBytes,
        maxConcurrentStreams,
        maxHeaderListSize: this.#options.maxMetadataBytes ?? DEFAULT_METADATA_BYTES,
        enablePush: false,
      },
      maxSessionMemory: this.#options.maxSessionMemory ?? 1000,
    });
    this.#sessions.add(session);
    session.on("error", () => {});
    session.setLocalWindowSize(windowBytes);
    const connection = new ServedConnection(session, socket, {
      handshakeTimeout,
      idleTimeout: this.#options.idleTimeout ?? 300_000,
      keepaliveInterval: this.#options.keepaliveInterval ?? 60_000,
      keepaliveTimeout: this.#options.keepaliveTimeout ?? 240_000,
    });
    session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.once("close", connection.call(headers[":path"] ?? ""));
      this.#route(stream, headers, connection);
    });
    session.once("close", () => this.#sessions.delete(session));
    if (this.#state === "closing") session.close();
  }

  #route(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, connection: ServedConnection): void {
    stream.on("error", () => {});
    // Node announces a stream on a later tick: it may be closed, and cannot be answered then.
    if (stream.destroyed || stream.closed) return;
    if (headers[":method"] !== "POST") {
      stream.respond({ ":status": 405, allow: "POST" }, { endStream: true });
      return;
    }
    if (!isGrpcContentType(headers["content-type"])) {
      stream.respond({ ":status": 415, "accept-post": "application/grpc" }, { endStream: true });
      return;
    }
    const { maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES, requestTimeout = 10_000, compression } = this.#options;
    const call = new ServerStream(stream, headers, maxMessageBytes, requestTimeout, compression);
    const { maxMetadataBytes = DEFAULT_METADATA_BYTES } = this.#options;
    // The HTTP/2 setting for the limit applies only once the client has confirmed it.
    if (metadataBytes(headers) > maxMetadataBytes) {
      const message = `the metadata of the call has more than ${maxMetadataBytes} bytes (maxMetadataBytes)`;
      call.end({ code: StatusCode.RESOURCE_EXHAUSTED, message });
      return;
    }
    const method = this.#methods.get(call.path);
    if (method === undefined) {
      call.end({ code: StatusCode.UNIMPLEMENTED, message: `this server has no method ${call.path}` });
      return;
    }
    if (connection.calls(call.path) > method.maxPerConnection) {
      const message = `this connection has ${method.maxPerConnection} calls of ${call.path} open, and may not have more`;
      call.end({ code: StatusCode.RESOURCE_EXHAUSTED, message });
      return;
    }
    try {
      method.handler(call);
    } catch (error) {
      call.end(statusFromError(error));
    }
  }
}

/** The size of the metadata, as HTTP/2 counts it. */
function metadataBytes(headers: IncomingHttpHeaders): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) bytes += name.length + String(value).length + 32;
  return bytes;
}
