import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { createConnection } from "node:net";
import { hello } from "./wire-requests.ts";

/** How a session ended: the gRPC status and its text. */
export interface SessionEnd {
  readonly status: string | undefined;
  readonly message: string;
}

/** A session with a worker on its own connection. It reads only when told to, and can send anything. */
export class RawSession implements Disposable {
  /** Resolves when the stream or its connection is over. */
  readonly ended: Promise<SessionEnd>;
  /** Resolves when the worker has ended the stream with a status. */
  readonly refused: Promise<SessionEnd>;
  receivedBytes = 0;
  /** The end of what was received, as text. */
  received = "";
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  readonly #isShared: boolean;

  /** `address`: the address of the worker, on a unix socket. `shared`: the connection to use. Default: a new one. */
  constructor(address: string, lane = 0, shared?: ClientHttp2Session) {
    const path = address.slice("unix:".length);
    this.#isShared = shared !== undefined;
    this.#session = shared ?? connect("http://localhost", { createConnection: () => createConnection(path) });
    this.#session.on("error", () => undefined);
    this.#stream = this.#session.request({
      ":method": "POST",
      ":path": "/wool.v1.Worker/Dispatch",
      "content-type": "application/grpc",
      te: "trailers",
    });
    this.#stream.on("error", () => undefined);
    let end: SessionEnd = { status: undefined, message: "" };
    const note = (fields: Record<string, unknown>): void => {
      if (fields["grpc-status"] === undefined) return;
      end = {
        status: String(fields["grpc-status"]),
        message: decodeURIComponent(String(fields["grpc-message"] ?? "")),
      };
    };
    this.#stream.on("response", note);
    this.#stream.on("trailers", note);
    this.ended = new Promise((resolve) => this.#session.once("close", () => resolve(end)));
    this.refused = new Promise((resolve) => {
      const tell = (): void => void (end.status !== undefined && resolve(end));
      this.#stream.on("response", tell).on("trailers", tell);
    });
    if (!this.#isShared) this.#stream.once("close", () => this.#session.close());
    this.send(hello(1, 1, lane));
  }

  /** Another session on the same connection, which ends with this one. */
  another(): RawSession {
    return new RawSession("", 0, this.#session);
  }

  /** Whether everything that was sent has been read, or never will be. */
  get isFlushed(): boolean {
    return this.#stream.writableLength === 0 || this.#stream.destroyed;
  }

  /** Sends a message, or a part of a longer one. False when it has to be waited for `drained`. */
  send(message: Uint8Array, claimedBytes = message.length): boolean {
    if (this.#stream.destroyed || this.#stream.writableEnded) return false;
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(claimedBytes, 1);
    this.#stream.write(prefix);
    return this.#stream.write(message);
  }

  /** Sends messages until the worker hangs up or stops reading for a moment. */
  async pour(count: number, make: (i: number) => Uint8Array): Promise<number> {
    for (let i = 0; i < count; i++) {
      if (this.#stream.destroyed) return i;
      if (this.send(make(i))) continue;
      const drained = await new Promise<boolean>((resolve) => {
        const settle = (isDrained: boolean): void => {
          clearTimeout(timer);
          this.#stream.off("drain", done).off("close", done);
          resolve(isDrained);
        };
        const done = (): void => settle(true);
        const timer = setTimeout(() => settle(false), 500);
        this.#stream.once("drain", done);
        this.#stream.once("close", done);
      });
      if (!drained) return i;
    }
    return count;
  }

  /** Reads what comes from now on. */
  read(): void {
    this.#stream.on("data", (chunk: Buffer) => {
      this.receivedBytes += chunk.length;
      this.received = (this.received + chunk.toString("latin1")).slice(-10_000);
    });
  }

  [Symbol.dispose](): void {
    if (this.#isShared) this.#stream.destroy();
    else this.#session.destroy();
  }
}
