import type { Socket } from "node:net";
import { type GrpcStatus, type MessageHandlers, MessageStream, PREFIX_BYTES } from "./protocol/index.ts";

/** What one end of a lane is told. */
export interface LaneHandlers extends MessageHandlers {
  /** What was sent has gone out: all of it but this many bytes. */
  written?(waiting: number): void;
  /**
   * The end, once, after the last message, unless this side closed it. `fault`: what is wrong with the messages of the other
   * side.
   */
  closed(fault: GrpcStatus | undefined): void;
}

/**
 * Lets an object keep methods that it inherits: a task that replaces them for all sockets must not keep its thread from hearing
 * of a message, since only then it looks whether something was replaced.
 */
export function pinned<T extends object>(object: T, ...keys: readonly (keyof T)[]): T {
  for (const key of keys)
    Object.defineProperty(object, key, { value: object[key], configurable: true, writable: true });
  return object;
}

/**
 * One end of a lane: a plain socket between a caller and a task thread, with messages framed as in gRPC. It is no HTTP/2
 * connection because Node.js 20 aborts the process when a thread is terminated while it serves one.
 */
export class LaneSocket extends MessageStream<Socket> {
  readonly #handlers: LaneHandlers;
  #fault: GrpcStatus | undefined;

  /** The socket keeps no program alive. */
  constructor(socket: Socket, handlers: LaneHandlers, maxMessageBytes: number) {
    super(pinned(socket, "emit", "push", "read"), maxMessageBytes);
    this.#handlers = handlers;
    if (handlers.written !== undefined) this.onWritten = () => handlers.written?.(socket.writableLength);
    socket.unref();
    socket.on("close", () => this.#closed());
    this.startReading(handlers);
  }

  /** Sends a message that has no room in front. */
  sendText(text: string): void {
    this.send(Buffer.concat([Buffer.alloc(PREFIX_BYTES), Buffer.from(text)]));
  }

  /** Resolves when everything that was sent has gone out, or the lane is over. */
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

  /** Ends the lane; what was sent still goes out. */
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
