import { createServer, type Socket } from "node:net";
import { LaneSocket, pinned } from "../../grpc/index.ts";
import { Timer } from "../../time/index.ts";

/** Longest first message: a ticket. */
const MOST_TICKET_BYTES = 64;
/** How long a connection may go without a ticket that is known, in milliseconds. */
const TICKET_MS = 10_000;
/** Most connections without one. When more come, the one that has been here for longest is closed. */
const MOST_STRANGERS = 1024;
/** How long, in milliseconds, and how many of them: bytes that a caller has not read after its session was ended. */
const LAST_BYTES_MS = 2000;
const MOST_LAST_BYTES = 128 * 1024;

/** What the owner of lanes is told. */
export interface DirectLanesOptions {
  /** Largest message of a caller, in bytes. */
  readonly maxMessageBytes: number;
  /** A message of a session. */
  message(session: number, buffer: Buffer, start: number, end: number): void;
  /** So many bytes for the caller of a session have gone out. */
  sent(session: number, bytes: number): void;
  /** The caller closed its lane, or sent what is no message. */
  cut(session: number, reason: string): void;
}

/** A connection to this thread. */
interface Lane {
  readonly socket: LaneSocket;
  /** The ticket that it has shown and that is not known yet. */
  ticket: string | undefined;
  /** 0 before it has shown a ticket that is known. */
  session: number;
  /** Bytes that were sent and have not gone out. */
  waiting: number;
  readonly patience: Timer;
}

/**
 * The lanes of a task thread: sockets that callers on this machine send their messages to without the gRPC thread in between.
 * That thread lets callers in: it gives each session a ticket, which the caller shows in its first message here.
 */
export class DirectLanes {
  readonly #options: DirectLanesOptions;
  /** Of sessions whose callers have not come. */
  readonly #tickets = new Map<string, number>();
  readonly #ticketOf = new Map<number, string>();
  readonly #lanes = new Map<number, Lane>();
  /** Connections that have not shown a ticket that is known. */
  readonly #strangers = new Set<Lane>();
  #isReading = false;

  constructor(options: DirectLanesOptions) {
    this.#options = options;
  }

  /** Listens at a path. False if that is not possible: callers go through the gRPC thread then. */
  listen(path: string): Promise<boolean> {
    return new Promise((resolve) => {
      const server = pinned(
        createServer((socket) => this.#connected(socket)),
        "emit",
      );
      // It is not an error of a task when a connection cannot be accepted.
      server.on("error", () => resolve(false));
      server.listen(path, () => resolve(true));
      server.unref();
    });
  }

  /** Reads what callers send from now on. */
  start(): void {
    this.#isReading = true;
    for (const { socket } of this.#strangers) socket.resume();
  }

  /** The caller of a session may come with this ticket, once. */
  expect(ticket: string, session: number): void {
    this.#tickets.set(ticket, session);
    this.#ticketOf.set(session, ticket);
    // It may have been faster than the word of it.
    for (const lane of this.#strangers) if (lane.ticket === ticket) this.#admit(lane, ticket);
  }

  has(session: number): boolean {
    return this.#lanes.has(session);
  }

  /** Sends a message with room for its prefix in front. False: hold back what can wait. */
  send(session: number, framed: Buffer): boolean {
    const lane = this.#lanes.get(session);
    if (lane === undefined) return false;
    lane.waiting += framed.length;
    return lane.socket.send(framed);
  }

  /** Stops reading from the caller of a session, or reads again. */
  hold(session: number, isHeld: boolean): void {
    const socket = this.#lanes.get(session)?.socket;
    if (isHeld) socket?.pause();
    else socket?.resume();
  }

  /** A session is over. What was sent in it still goes out, if that is little and its caller reads it soon. */
  close(session: number): void {
    const lane = this.#forget(session);
    if (lane === undefined) return;
    const { socket } = lane;
    if (socket.unreadBytes > MOST_LAST_BYTES) socket.destroy();
    else {
      socket.close();
      new Timer(LAST_BYTES_MS, () => socket.destroy()).unref();
    }
  }

  /** Nobody waits for what was sent in a session. */
  drop(session: number): void {
    this.#forget(session)?.socket.destroy();
  }

  /** Resolves when everything that was sent in a session, or in all, has gone out. */
  async flushed(session?: number): Promise<void> {
    const lanes = Array.from(this.#lanes.values()).filter((lane) => session === undefined || lane.session === session);
    await Promise.all(lanes.map(({ socket }) => socket.flushed()));
  }

  #forget(session: number): Lane | undefined {
    this.#tickets.delete(this.#ticketOf.get(session) ?? "");
    this.#ticketOf.delete(session);
    const lane = this.#lanes.get(session);
    this.#lanes.delete(session);
    return lane;
  }

  #connected(connection: Socket): void {
    const [oldest] = this.#strangers;
    if (oldest !== undefined && this.#strangers.size >= MOST_STRANGERS) this.#dismiss(oldest);
    const socket = new LaneSocket(
      connection,
      {
        message: (buffer, start, end) => {
          if (lane.session === 0) this.#shown(lane, buffer.toString("latin1", start, end));
          else this.#options.message(lane.session, buffer, start, end);
        },
        written: (waiting) => {
          const bytes = lane.waiting - waiting;
          lane.waiting = waiting;
          if (lane.session !== 0) this.#options.sent(lane.session, bytes);
        },
        closed: (fault) => this.#closed(lane, fault?.message),
      },
      this.#options.maxMessageBytes,
    );
    const patience = new Timer(TICKET_MS, () => this.#dismiss(lane)).unref();
    const lane: Lane = { socket, ticket: undefined, session: 0, waiting: 0, patience };
    this.#strangers.add(lane);
    socket.limitMessages(MOST_TICKET_BYTES);
    if (!this.#isReading) socket.pause();
  }

  #shown(lane: Lane, ticket: string): void {
    if (lane.ticket !== undefined) return this.#dismiss(lane);
    lane.ticket = ticket;
    if (this.#tickets.has(ticket)) this.#admit(lane, ticket);
    // What follows the ticket waits until it is known.
    else lane.socket.pause();
  }

  #admit(lane: Lane, ticket: string): void {
    const session = this.#tickets.get(ticket);
    if (session === undefined) return;
    this.#tickets.delete(ticket);
    this.#ticketOf.delete(session);
    this.#strangers.delete(lane);
    lane.patience.clear();
    lane.session = session;
    this.#lanes.set(session, lane);
    lane.socket.limitMessages(Number.POSITIVE_INFINITY);
    lane.socket.resume();
  }

  #dismiss(lane: Lane): void {
    this.#strangers.delete(lane);
    lane.patience.clear();
    lane.socket.destroy();
  }

  #closed(lane: Lane, fault: string | undefined): void {
    this.#strangers.delete(lane);
    lane.patience.clear();
    if (this.#lanes.get(lane.session) !== lane) return;
    this.#lanes.delete(lane.session);
    this.#options.cut(lane.session, fault ?? "its caller closed the connection to the task thread");
  }
}
