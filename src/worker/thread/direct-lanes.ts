import { createServer, type Socket } from "node:net";
import { LaneSocket, pinned } from "../../grpc/index.ts";
import { Timer } from "../../time/index.ts";

/** Longest first message, which is a ticket. */
const MOST_TICKET_BYTES = 64;
/** How long a connection may go without a known ticket, in milliseconds. */
const TICKET_MS = 10_000;
/** Most connections without a known ticket. When more come, the oldest one is closed. */
const MOST_STRANGERS = 1024;
/** How long unread bytes wait for the caller after its session was ended, in milliseconds, and how many may wait. */
const LAST_BYTES_MS = 2000;
const MOST_LAST_BYTES = 128 * 1024;

/** Events and limits of lanes. */
export interface DirectLanesOptions {
  /** Largest message of a caller, in bytes. */
  readonly maxMessageBytes: number;
  /** A message of a session came. */
  message(session: number, buffer: Buffer, start: number, end: number): void;
  /**
   * What is to be told of a message of a session that has not come whole: how many more bytes of memory it takes, and how many
   * have come. `isBehind`: whether nothing is read from its caller.
   */
  held(session: number, isBehind: () => boolean): (bytes: number, filled: number) => void;
  /** So many bytes for the caller of a session have gone out. */
  sent(session: number, bytes: number): void;
  /** The caller closed its lane, or sent something that is not a message. */
  cut(session: number, reason: string): void;
}

/** A connection to this thread. */
interface Lane {
  readonly socket: LaneSocket;
  /** The ticket that the caller has shown, while it is not known yet. */
  ticket: string | undefined;
  /** 0 before the caller has shown a known ticket. */
  session: number;
  /** Bytes that were sent and are still on their way out. */
  waiting: number;
  readonly patience: Timer;
}

/**
 * The lanes of a task thread: sockets to which callers on this machine send their messages directly, without the gRPC
 * thread in between. The gRPC thread admits callers: it gives each session a ticket, and the caller shows the ticket in
 * its first message here.
 */
export class DirectLanes {
  readonly #options: DirectLanesOptions;
  /** Tickets of sessions whose callers have not connected. */
  readonly #tickets = new Map<string, number>();
  readonly #ticketOf = new Map<number, string>();
  readonly #lanes = new Map<number, Lane>();
  /** Connections that have not shown a known ticket. */
  readonly #strangers = new Set<Lane>();
  #isReading = false;

  constructor(options: DirectLanesOptions) {
    this.#options = options;
  }

  /** Listens at a path. Resolves with false if that is impossible: callers then go through the gRPC thread. */
  listen(path: string): Promise<boolean> {
    return new Promise((resolve) => {
      const server = pinned(
        createServer((socket) => this.#connected(socket)),
        "emit",
      );
      // A connection that cannot be accepted is not an error of a task.
      server.on("error", () => resolve(false));
      server.listen(path, () => resolve(true));
      server.unref();
    });
  }

  /** Starts reading messages of callers. */
  start(): void {
    this.#isReading = true;
    for (const { socket } of this.#strangers) socket.resume();
  }

  /** The caller of a session may connect with this ticket, once. */
  expect(ticket: string, session: number): void {
    this.#tickets.set(ticket, session);
    this.#ticketOf.set(session, ticket);
    // The caller may have connected before the gRPC thread reported the ticket.
    for (const lane of this.#strangers) if (lane.ticket === ticket) this.#admit(lane, ticket);
  }

  has(session: number): boolean {
    return this.#lanes.has(session);
  }

  /** Sends a message that has room for its prefix in front. Returns false if everything that can wait should wait. */
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

  /** A session is over. Its last bytes still go out, if they are few and the caller reads them soon. */
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

  /** Closes the lane of a session at once: nobody waits for its last bytes. */
  drop(session: number): void {
    this.#forget(session)?.socket.destroy();
  }

  /** Resolves when everything that was sent in a session, or in all of them, has gone out. */
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
    // Bytes after the ticket wait until the ticket is known.
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
    const { socket } = lane;
    socket.limitMessages(Number.POSITIVE_INFINITY);
    socket.watchHeld(this.#options.held(session, () => socket.isPaused));
    socket.resume();
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
