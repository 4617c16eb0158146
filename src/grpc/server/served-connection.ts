import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { Timer } from "../../time/index.ts";
import { Keepalive } from "../keepalive.ts";

/** When a server closes a connection, each in milliseconds; `Infinity` for never. */
export interface ConnectionPatience {
  /** Until it has spoken HTTP/2. */
  readonly handshakeTimeout: number;
  /** Without any call. */
  readonly idleTimeout: number;
  /** Between two PINGs to the client. */
  readonly keepaliveInterval: number;
  /** Until a PING is answered. */
  readonly keepaliveTimeout: number;
}

/**
 * Ends a useless connection: one that never speaks HTTP/2, one without a call, one whose peer does not respond. Also
 * one that Node.js has stopped reading, because the client violated the protocol, and leaves open. Its timers do not
 * keep the process alive.
 */
export class ServedConnection {
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #idleTimeout: number;
  readonly #keepalive: Keepalive;
  /** Calls that are not over, by the path of their method. */
  readonly #calls = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(session: ServerHttp2Session, socket: Socket, patience: ConnectionPatience) {
    this.#session = session;
    this.#socket = socket;
    this.#idleTimeout = patience.idleTimeout;
    this.#dropIn(patience.handshakeTimeout);
    this.#keepalive = new Keepalive(
      session,
      { interval: patience.keepaliveInterval, timeout: patience.keepaliveTimeout },
      () => this.drop(),
    );
    session.once("remoteSettings", () => this.#rest());
    session.once("close", () => {
      this.#timer?.clear();
      this.#keepalive.stop();
    });
  }

  /** A call of a method has begun. Call the returned function when it is over. */
  call(path: string): () => void {
    this.#calls.set(path, this.calls(path) + 1);
    this.#timer?.clear();
    return () => {
      const left = this.calls(path) - 1;
      if (left > 0) this.#calls.set(path, left);
      else this.#calls.delete(path);
      this.#rest();
    };
  }

  /** How many calls of a method are not over. */
  calls(path: string): number {
    return this.#calls.get(path) ?? 0;
  }

  /** Ends the connection at once. */
  drop(): void {
    this.#session.destroy();
    // A session waits for its pending write, which a frozen peer never reads.
    this.#socket.destroy();
  }

  #rest(): void {
    if (this.#calls.size === 0) this.#dropIn(this.#idleTimeout);
  }

  #dropIn(ms: number): void {
    this.#timer?.clear();
    if (ms !== Number.POSITIVE_INFINITY) this.#timer = new Timer(ms, () => this.drop()).unref();
  }
}
