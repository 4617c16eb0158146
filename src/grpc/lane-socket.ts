import type { Socket } from "node:net";
import { type GrpcStatus, type MessageHandlers, MessageStream, PREFIX_BYTES } from "./protocol/index.ts";

/** Handlers of one end of a lane. */
export interface LaneHandlers extends MessageHandlers {
  /** Sent messages have been written, except for this many bytes. */
  written?(waiting: number): void;
  /**
   * The end, once, after the last message, unless this side closed it. `fault`: the error in the messages of the other
   * side.
   */
  closed(fault: GrpcStatus | undefined): void;
}

/**
 * Copies inherited methods to an object. A task that replaces the methods of all sockets must not stop its thread from
 * receiving messages: the thread checks for replaced methods only when a message arrives.
 */
export function pinned<T extends object>(object: T, ...keys: readonly (keyof T)[]): T {
  for (const key of keys)
    Object.defineProperty(object, key, { value: object[key], configurable: true, writable: true });
  return object;
}

/**
 * One end of a lane: a plain socket between a caller and a task thread, with messages framed as in gRPC. It is not an
 * HTTP/2 connection because Node.js 20 aborts the process when a thread is terminated while it serves one.
 */
export class LaneSocket extends MessageStream<Socket> {
  readonly #handlers: LaneHandlers;
  #fault: GrpcStatus | undefined;

  /** The socket does not keep the program alive. */
  constructor(socket: Socket, handlers: LaneHandlers, maxMessageBytes: number) {
    super(pinned(socket, "emit", "push", "read"), maxMessageBytes);
    this.#handlers = handlers;
    if (handlers.written !== undefined) this.onWritten = () => handlers.written?.(socket.writableLength);
    socket.unref();
    socket.on("close", () => this.#closed());
    this.startReading(handlers);
  }

  /** Sends a text message; it needs no headroom. */
  sendText(text: string): void {
    this.send(Buffer.concat([Buffer.alloc(PREFIX_BYTES), Buffer.from(text)]));
  }

  /** Resolves when every sent message has been written, or the lane has ended. */
  flushed(): Promise<void> {
    if (this.bytes.destroyed || this.bytes.writableLength === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.bytes.write("", () => resolve());
      this.bytes.once("close", () => resolve());
    });
  }

  /** Keeps the program alive until the lane has ended. */
  ref(): void {
    this.bytes.ref();
  }

  /** Ends the lane after the messages that were sent. */
  close(): void {
    this.state = "closed";
    this.deframer.stop();
    this.bytes.destroySoon();
  }

  /** Ends the lane at once. */
  destroy(): void {
    this.state = "closed";
    this.deframer.stop();
    this.bytes.destroy();
  }

  protected override fail(status: GrpcStatus): void {
    this.#fault = status;
    this.deframer.stop();
    this.bytes.destroy();
  }

  #closed(): void {
    if (this.state === "closed") return;
    this.state = "closed";
    this.deframer.stop();
    this.#handlers.closed(this.#fault);
  }
}
