import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { createConnection } from "node:net";
import { hello } from "./wire-requests.ts";

/** How a session ended: the gRPC status and its text. */
export interface SessionEnd {
  readonly status: string | undefined;
  readonly message: string;
}

/** A session with a worker on a connection of its own that reads only when it is told to, and sends what it likes. */
export class RawSession implements Disposable {
  /** Resolves when the stream or its connection is over. */
  readonly ended: Promise<SessionEnd>;
  receivedBytes = 0;
  /** The last of what was received, as text. */
  received = "";
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;

  /** `address`: that of the worker, on a unix socket. */
  constructor(address: string, lane = 0) {
    const path = address.slice("unix:".length);
    this.#session = connect("http://localhost", { createConnection: () => createConnection(path) });
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
    this.#stream.once("close", () => this.#session.close());
    this.send(hello(1, 1, lane));
  }

  /** Sends a message. False when it has to be waited for `drained`. */
  send(message: Uint8Array): boolean {
    if (this.#stream.destroyed || this.#stream.writableEnded) return false;
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    this.#stream.write(prefix);
    return this.#stream.write(message);
  }

  /** Sends messages until the worker hangs up or does not take more for a moment. */
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
    this.#session.destroy();
  }
}
