import type { ResourceLimits } from "node:worker_threads";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { asError } from "../../checks/index.ts";
import {
  type FromThread,
  messageWeight,
  readToEnd,
  type ShareNotice,
  type ShippedValue,
  ThreadBoard,
  type ThreadConfig,
  type ThreadConfiguration,
  type ToThread,
  within,
} from "../shared/index.ts";
import { type LoadingThread, takeThread } from "./loading-thread.ts";

/** Weight of messages handed to the thread and not yet read by it, above which callers are paused. */
const INCOMING_LIMIT_BYTES = 16 * 1024 * 1024;

/** Events of a task thread. */
export interface TaskThreadEvents {
  /** A message for the caller of a session. The first bytes are the session's number. */
  message(memory: ArrayBuffer): void;
  /** A caller violated the protocol. */
  malformed(session: number, reason: string): void;
  /** A caller exceeded a limit. */
  exhausted(session: number, reason: string): void;
  /** Nothing more should be read from a caller, or reading may go on. */
  hold(session: number, isHeld: boolean): void;
  /** After `finish`: nothing is left to send to the caller of a session. */
  finished(session: number): void;
  /** After `stop`: no task is left. */
  drained(): void;
  /** After `settle`: nothing is left to do. */
  settled(): void;
  /** After `catch-up`: the thread has read everything that it was handed before. */
  caughtUp(): void;
  /** It made room for tasks that wait in other threads. */
  room(): void;
  /** A message came through a lane while nobody watched the thread. */
  busy(): void;
  /** The caller of a session closed its lane. */
  cut(session: number, reason: string): void;
  /** A notice about a shared value. */
  share(notice: ShareNotice): void;
  /** The thread ended without being asked to, after it was ready. */
  lost(reason: string): void;
}

/** Why a task thread cannot take tasks. */
export class ThreadStartFailure extends Error {
  /** The error that user code threw, if it did and the error can travel. */
  readonly thrown: ShippedValue | undefined;

  constructor(reason: string, thrown: ShippedValue | undefined) {
    super(reason);
    this.thrown = thrown;
  }
}

/** A thread that runs tasks, as the gRPC thread sees it. */
export class TaskThread {
  readonly board = new ThreadBoard();
  /** Rejects when the thread cannot take tasks. */
  readonly ready: Promise<void>;
  /** Whether callers can connect to it, once that is known. */
  readonly listening: Promise<boolean>;
  readonly #thread: LoadingThread;
  readonly #port: MessagePort;
  readonly #events: TaskThreadEvents;
  #state: "starting" | "running" | "ended" = "starting";
  #posted = 0;
  #flushed: () => void = () => undefined;
  #listens: (hasLane: boolean) => void = () => undefined;

  constructor(
    config: Omit<ThreadConfig, "board">,
    options: { resourceLimits?: ResourceLimits | undefined },
    events: TaskThreadEvents,
  ) {
    this.#events = events;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#thread = takeThread(options.resourceLimits);
    const configuration: ThreadConfiguration = { config: { ...config, board: this.board.memory }, port: port2 };
    this.#thread.worker.postMessage(configuration, [port2]);
    this.listening = new Promise((resolve) => {
      this.#listens = resolve;
    });
    this.ready = new Promise((resolve, reject) => {
      port1.on("message", (message: ArrayBuffer | FromThread) => {
        if (message instanceof ArrayBuffer) events.message(message);
        else if (message.kind === "ready") {
          this.#state = "running";
          resolve();
        } else if (message.kind === "failed") reject(new ThreadStartFailure(message.reason, message.thrown));
        else if (message.kind === "malformed") events.malformed(message.session, message.reason);
        else if (message.kind === "exhausted") events.exhausted(message.session, message.reason);
        else if (message.kind === "hold") events.hold(message.session, message.isHeld);
        else if (message.kind === "finished") events.finished(message.session);
        else if (message.kind === "caught-up") events.caughtUp();
        else if (message.kind === "room") events.room();
        else if (message.kind === "busy") events.busy();
        else if (message.kind === "cut") events.cut(message.session, message.reason);
        else if (message.kind === "listening") this.#listens(message.hasLane);
        else if (message.kind === "share") events.share(message);
        else if (message.kind === "flushed") this.#flushed();
        else if (message.kind === "settled") events.settled();
        else if (message.kind === "spoiled") this.#giveUp(message.reason);
        else events.drained();
      });
      void this.#thread.exited.then((code) => this.#exited(code, reject));
    });
  }

  get hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** Whether the thread keeps up with what it is handed. */
  get keepsUp(): boolean {
    return ((this.#posted - this.board.consumed) | 0) < INCOMING_LIMIT_BYTES;
  }

  /** Weight of the messages handed to the thread so far. Wraps around. */
  get posted(): number {
    return this.#posted;
  }

  ping(ping: number): void {
    this.tell({ kind: "ping", ping });
  }

  tell(message: ToThread): void {
    if (this.#state === "ended") return;
    this.#port.postMessage(message);
  }

  /** Hands over a message of a caller. The memory then belongs to the thread. */
  hand(memory: ArrayBuffer): void {
    // A thread that has ended does not read this, and the count shows that.
    this.#posted = (this.#posted + messageWeight(memory.byteLength)) | 0;
    if (this.#state === "ended") return;
    this.#port.postMessage(memory, [memory]);
  }

  /**
   * Ends the thread when the output of its tasks has passed through this thread, or after `ms` milliseconds: a blocked
   * thread cannot hand its output over.
   */
  async end(ms: number): Promise<void> {
    const until = performance.now() + ms;
    if (this.#state === "running") {
      const flushed = new Promise<void>((resolve) => {
        this.#flushed = resolve;
      });
      this.tell({ kind: "flush" });
      await within(ms, flushed);
    }
    await this.terminate();
    const { stdout, stderr } = this.#thread.worker;
    await within(until - performance.now(), Promise.all([readToEnd(stdout), readToEnd(stderr)]));
  }

  /** Ends the thread at once. */
  async terminate(): Promise<void> {
    this.#state = "ended";
    await this.#thread.worker.terminate();
    this.#port.close();
  }

  #giveUp(reason: string): void {
    if (this.#state !== "running") return;
    // Only after it has ended is it certain which messages it has not read.
    void this.terminate().then(() => this.#events.lost(reason));
  }

  #exited(code: number, reject: (error: Error) => void): void {
    const starting = this.#state === "starting";
    const expected = this.#state === "ended";
    this.#state = "ended";
    this.#port.close();
    this.#flushed();
    this.#listens(false);
    if (expected) return;
    const { failure } = this.#thread;
    const error = failure === undefined ? undefined : asError(failure);
    const reason = error?.message ?? `process.exit(${code}) was called in it`;
    if (starting) reject(error ?? new Error(`the task thread did not start: ${reason}`));
    else this.#events.lost(reason);
  }
}
