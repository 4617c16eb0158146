import { connect } from "node:net";
import { dirname, join } from "node:path";
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  type GrpcChannel,
  type GrpcStatus,
  type GrpcStream,
  LaneSocket,
  LoopTimeout,
  StatusCode,
} from "../grpc/index.ts";
import type { Welcome } from "../wire/index.ts";

const DISPATCH = "/wool.v1.Worker/Dispatch";
const UNIX = "unix:";
/** How long to wait for the rest of a session when one of its two connections has ended, in milliseconds. */
const LAST_WORDS_MS = 2000;
/** Accepts only a socket in the worker's own directory. */
const LANE_NAME = /^[\w.-]+$/;

/** What a session is told. */
export interface SessionStreamHandlers {
  message(buffer: Buffer, start: number, end: number): void;
  drain(): void;
  /** Called once, after the last message. `isWhole`: the worker's last messages have been read too. */
  ended(status: GrpcStatus, isWhole: boolean): void;
}

/**
 * The connections that carry a session's messages: the gRPC stream, and the lane if there is one. A lane goes straight
 * to the task thread. The stream goes to the gRPC thread, which can tell what happened to the task thread.
 *
 * `relayed`: messages go through the stream. `connecting`: connects to the lane. `direct`: they go through the lane.
 * `lane-only`: the stream has ended, or has said that the task thread has; the rest is in the lane. `stream-only`: the
 * lane has ended, and the stream says why. `closed`.
 */
export class SessionStream {
  readonly #address: string;
  readonly #handlers: SessionStreamHandlers;
  readonly #stream: GrpcStream;
  #state: "relayed" | "connecting" | "direct" | "lane-only" | "stream-only" | "closed" = "relayed";
  #lane: LaneSocket | undefined;
  #patience: LoopTimeout | undefined;
  /** In `lane-only`: called when the lane has ended too. */
  #afterLane: (isWhole: boolean) => void = () => undefined;

  constructor(channel: GrpcChannel, address: string, handlers: SessionStreamHandlers) {
    this.#address = address;
    this.#handlers = handlers;
    this.#stream = channel.openStream(DISPATCH, {
      message: (buffer, start, end) => handlers.message(buffer, start, end),
      drain: () => {
        if (this.#state === "relayed") handlers.drain();
      },
      status: (status) => this.#streamEnded(status),
    });
  }

  /** Whether a worker at this address can be asked for a lane. */
  static canTakeLane(address: string): boolean {
    return address.startsWith(UNIX) && process.platform !== "win32";
  }

  /** Whether messages go through the lane. */
  get isDirect(): boolean {
    return this.#state === "direct";
  }

  /** Sends a message of the session. Returns false if everything that can wait should wait until `drain`. */
  send(framed: Buffer): boolean {
    return (this.#lane ?? this.#stream).send(framed);
  }

  /** Sends a message through the stream even if there is a lane. */
  sendBeside(framed: Buffer): void {
    if (this.#state === "direct") this.#stream.send(framed);
  }

  /**
   * Connects to the lane that the worker offers. Calls `done` when messages can be sent, through the lane or the
   * stream.
   */
  useLane({ laneSocket = "", laneTicket = "" }: Welcome, done: () => void): void {
    if (laneSocket === "" || !SessionStream.canTakeLane(this.#address) || !LANE_NAME.test(laneSocket)) return done();
    this.#state = "connecting";
    const socket = connect(join(dirname(this.#address.slice(UNIX.length)), laneSocket));
    // If somebody removed the socket, messages go through the stream.
    const relay = (): void => {
      if (this.#state !== "connecting") return;
      this.#state = "relayed";
      done();
    };
    socket.once("error", relay);
    socket.once("connect", () => {
      socket.off("error", relay);
      if (this.#state !== "connecting") {
        socket.destroy();
        return;
      }
      this.#state = "direct";
      this.#lane = this.#openLane(socket);
      this.#lane.sendText(laneTicket);
      done();
    });
  }

  /** Calls `then` when the worker's last messages have been read: it has reported that its task thread is gone. */
  finish(then: () => void): void {
    if (this.#state === "direct") this.#readRest(then);
    else if (this.#state !== "lane-only") then();
  }

  /** Gives up the session. */
  cancel(): void {
    this.#state = "closed";
    this.#patience?.clear();
    this.#lane?.destroy();
    this.#stream.cancel();
  }

  #openLane(socket: ReturnType<typeof connect>): LaneSocket {
    return new LaneSocket(
      socket,
      {
        message: (buffer, start, end) => this.#handlers.message(buffer, start, end),
        drain: () => this.#handlers.drain(),
        closed: (fault) => this.#laneEnded(fault),
      },
      DEFAULT_MAX_MESSAGE_BYTES,
    );
  }

  #streamEnded(status: GrpcStatus): void {
    if (this.#state === "direct") this.#readRest((isWhole) => this.#end(status, isWhole));
    else if (this.#state !== "lane-only") this.#end(status, true);
  }

  #laneEnded(fault: GrpcStatus | undefined): void {
    this.#patience?.clear();
    if (fault !== undefined) this.#end(fault, false);
    else if (this.#state === "lane-only") this.#afterLane(true);
    else if (this.#state === "direct") {
      this.#state = "stream-only";
      const message = `the connection to ${this.#address} was lost: its task thread closed it`;
      this.#wait(() => this.#end({ code: StatusCode.UNAVAILABLE, message }, false));
    }
  }

  /** The worker closes the lane after its last message there. */
  #readRest(then: (isWhole: boolean) => void): void {
    this.#state = "lane-only";
    this.#afterLane = then;
    // The connection of the stream keeps the program alive while somebody waits, but may be gone.
    this.#lane?.ref();
    this.#wait(() => then(false));
  }

  #wait(over: () => void): void {
    this.#patience?.clear();
    this.#patience = new LoopTimeout(over, LAST_WORDS_MS);
  }

  #end(status: GrpcStatus, isWhole: boolean): void {
    if (this.#state === "closed") return;
    this.cancel();
    this.#handlers.ended(status, isWhole);
  }
}
