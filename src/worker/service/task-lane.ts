import { CancelField, FrameReader, LAST_REQUEST_FIELD, RequestField, UnwantedField } from "../../wire/index.ts";
import { SESSION_PREFIX_BYTES, type TaskOfSession, type ThreadBoard, type ToThread } from "../shared/index.ts";
import type { TaskThread, TaskThreadEvents } from "./task-thread.ts";
import { ThreadWatchdog } from "./thread-watchdog.ts";

/** The first byte of a message that begins with a cancellation, or with a notice of one that went through a lane. */
const CANCEL_TAG = (RequestField.cancel << 3) | 2;
const UNWANTED_TAG = (RequestField.unwanted << 3) | 2;
/** Most cancellations in a message that this thread looks at: it has other callers to serve. */
const MOST_NOTED = 100_000;
/** How long to wait for the output of a task thread when it ends, in milliseconds. */
const LAST_OUTPUT_MS = 1000;
/** The same for a thread with a task that did not end when it was cancelled. The task may block it. */
const LAST_OUTPUT_BUSY_MS = 250;

/** A session as its lane knows it. */
export interface LaneSession {
  /** Names the session within its worker. */
  readonly number: number;
  /** The stream that its caller's messages come from. */
  readonly stream: { pause(): void; resume(): void };
  /** How many of its messages the thread has begun to read, including the hello. */
  readonly taken: Float64Array;
}

/** Events of a lane. */
export interface TaskLaneEvents
  extends Pick<
    TaskThreadEvents,
    "message" | "malformed" | "exhausted" | "hold" | "finished" | "room" | "share" | "cut"
  > {
  /**
   * The thread ended without being asked to. All sessions of the lane are over.
   *
   * @param culprit - the task whose code ended it, if that is certain
   */
  lost(reason: string, culprit: TaskOfSession | undefined): void;
}

/** A task thread and its successors, one at a time: hands messages over, watches the thread, and pauses callers. */
export class TaskLane {
  readonly #startThread: (events: TaskThreadEvents) => TaskThread;
  readonly #events: TaskLaneEvents;
  readonly #reader = new FrameReader(LAST_REQUEST_FIELD);
  /** Sessions whose callers are paused until the thread has caught up. */
  readonly #heldUp = new Set<LaneSession>();
  #thread: TaskThread;
  #watchdog: ThreadWatchdog;
  #drained: () => void = () => undefined;
  #isDrained = false;
  #settled: () => void = () => undefined;

  constructor(startThread: (events: TaskThreadEvents) => TaskThread, events: TaskLaneEvents) {
    this.#startThread = startThread;
    this.#events = events;
    this.#thread = this.#start();
    this.#watchdog = this.#watch();
  }

  /** Rejects when the thread cannot take tasks. */
  get ready(): Promise<void> {
    return this.#thread.ready;
  }

  /** Whether callers can connect to its thread, as soon as that is known. */
  get listening(): Promise<boolean> {
    return this.#thread.listening;
  }

  /** Whether its thread has answered every task that it accepted, and accepts none any more. */
  get isDrained(): boolean {
    return this.#isDrained;
  }

  get board(): ThreadBoard {
    return this.#thread.board;
  }

  tell(message: ToThread): void {
    this.#thread.tell(message);
  }

  /** Hands over a message of a session: a part of `buffer`. */
  hand(session: LaneSession, buffer: Buffer, start: number, end: number): void {
    if (buffer[start] === UNWANTED_TAG) return this.#noteUnwanted(session, buffer, start, end);
    const thread = this.#thread;
    const memory = new ArrayBuffer(SESSION_PREFIX_BYTES + end - start);
    const message = Buffer.from(memory);
    message.writeUInt32LE(session.number, 0);
    buffer.copy(message, SESSION_PREFIX_BYTES, start, end);
    thread.hand(memory);
    if (buffer[start] === CANCEL_TAG) this.#noteCancelled(session, buffer, start, end);
    else this.#watchdog.wake();
    if (!thread.keepsUp) this.#holdUp(session);
  }

  /** The caller of a session is gone. */
  forget(session: LaneSession): void {
    this.#heldUp.delete(session);
    this.tell({ kind: "close", session: session.number });
    this.#watchdog.abandoned(session.number);
  }

  /** Takes no new tasks; resolves when none is left. */
  async drain(): Promise<void> {
    if (this.#thread.hasEnded) return;
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    this.tell({ kind: "stop" });
    await drained;
  }

  /** After `drain`: disposes of the resources of the thread; resolves when it has nothing left to do. */
  async settle(): Promise<void> {
    if (this.#thread.hasEnded) return;
    const settled = new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
    this.tell({ kind: "settle" });
    await settled;
  }

  /** Starts another thread in place of one that was lost. Rejects when it cannot take tasks. */
  async replace(): Promise<void> {
    this.#thread = this.#start();
    this.#watchdog = this.#watch();
    try {
      await this.#thread.ready;
    } catch (error) {
      this.#drained();
      throw error;
    }
  }

  /** Ends the thread, after the output of its tasks has been passed on. */
  async end(): Promise<void> {
    this.#watchdog.close();
    await this.#thread.end(this.board.live > 0 ? LAST_OUTPUT_BUSY_MS : LAST_OUTPUT_MS);
  }

  #start(): TaskThread {
    return this.#startThread({
      ...this.#events,
      drained: () => {
        this.#isDrained = true;
        this.#drained();
      },
      settled: () => this.#settled(),
      caughtUp: () => this.#letGoOn(),
      busy: () => this.#watchdog.wake(),
      lost: (reason) => this.#lost(reason, this.board.occupying),
    });
  }

  #watch(): ThreadWatchdog {
    const thread = this.#thread;
    return new ThreadWatchdog(thread, ({ reason, task }) => {
      // Only after it has ended is it certain which messages it has not read.
      void thread.terminate().then(() => this.#lost(reason, task));
    });
  }

  #lost(reason: string, culprit: TaskOfSession | undefined): void {
    this.#drained();
    this.#settled();
    this.#watchdog.close();
    this.#letGoOn();
    this.#events.lost(reason, culprit);
  }

  /** Notes the cancellations of a message. They come first, so that they can be found without reading all of it. */
  #noteCancelled(session: LaneSession, buffer: Buffer, start: number, end: number): void {
    const frame = this.#reader.open(buffer, start, end);
    try {
      for (let noted = 0; noted < MOST_NOTED && frame.next() === RequestField.cancel; noted++) {
        this.#watchdog.cancelled(session.number, frame.integer(CancelField.id));
      }
    } catch {
      // The task thread reports what is wrong with the message.
    }
  }

  /** Notes cancellations that went through a lane, where the thread may be too busy to read them. */
  #noteUnwanted(session: LaneSession, buffer: Buffer, start: number, end: number): void {
    const frame = this.#reader.open(buffer, start, end);
    try {
      for (let noted = 0; noted < MOST_NOTED && frame.next() === RequestField.unwanted; noted++) {
        const message = frame.integer(UnwantedField.message);
        const isKnown = (): boolean => (session.taken[0] ?? 0) >= message;
        if (!isKnown()) this.#watchdog.cancelled(session.number, frame.integer(UnwantedField.id), isKnown);
      }
    } catch {
      // A message that cannot be read is ignored here.
    }
  }

  /** Pauses a caller if the thread does not keep up with its messages, so that memory stays bounded. */
  #holdUp(session: LaneSession): void {
    if (this.#thread.hasEnded || this.#heldUp.has(session)) return;
    if (this.#heldUp.size === 0) this.tell({ kind: "catch-up" });
    this.#heldUp.add(session);
    session.stream.pause();
  }

  #letGoOn(): void {
    const sessions = [...this.#heldUp];
    this.#heldUp.clear();
    // Each may be paused again at once, because of messages that had been received before.
    for (const { stream } of sessions) stream.resume();
  }
}
