import { writePace } from "../../wire/index.ts";
import type { ThreadBoard } from "../shared/index.ts";
import type { ExecutorSession } from "./executor-session.ts";
import { PaceMeter } from "./turns/index.ts";

/** How pending output is set up. */
export interface PendingOutputOptions {
  readonly board: Pick<ThreadBoard, "taskEnded">;
  /** Whether nothing runs that could soon have more to send. */
  readonly isQuiet: () => boolean;
  /** Called after everything was sent. */
  readonly sent: () => void;
}

/** A session that has something to send. */
type Sender = Pick<ExecutorSession, "outbox" | "flush">;

/** What the sessions of a thread have to send, collected for one message each, with a report of how long tasks take. */
export class PendingOutput {
  readonly #options: PendingOutputOptions;
  readonly #sessions = new Set<Sender>();
  readonly #pace = new PaceMeter();
  /** The session that was added last. */
  #last: Sender | undefined;
  #isScheduled = false;
  /** Tasks that have ended since the last report. */
  #ended = 0;
  readonly #flushNow = (): void => this.flush();

  constructor(options: PendingOutputOptions) {
    this.#options = options;
  }

  /** Whether there is nothing to send. */
  get isEmpty(): boolean {
    return this.#sessions.size === 0;
  }

  /** Whether others want the core that the thread runs on. */
  get isCrowded(): boolean {
    return this.#pace.isCrowded;
  }

  /** Whether a session has something to send. */
  has(session: Sender): boolean {
    return this.#sessions.has(session);
  }

  taskEnded(): void {
    this.#ended++;
  }

  /** The thread was idle for so many milliseconds, and polled for messages. */
  polled(ms: number): void {
    this.#pace.polled(ms);
  }

  /** A session has something to send: at once if nothing else runs, otherwise together with what comes next. */
  add(session: Sender): void {
    // Adding to a set takes 10 ns, and this is called for each call of a pack.
    if (session === this.#last && this.#isScheduled) return;
    this.#last = session;
    this.#sessions.add(session);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#options.isQuiet()) process.nextTick(this.#flushNow);
    else setImmediate(this.#flushNow);
  }

  /** Sends everything, with a report. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#ended > 0) this.#options.board.taskEnded();
    // If everything was sent with a part of a message, the next message has the report.
    if (this.#sessions.size > 0) this.#report();
    this.send();
  }

  /** Sends everything, without a report: that takes 7 us. */
  send(): void {
    for (const session of this.#sessions) session.flush();
    this.#sessions.clear();
    this.#last = undefined;
    this.#options.sent();
  }

  #report(): void {
    const pace = this.#pace.read(this.#ended);
    this.#ended = 0;
    if (pace === undefined) return;
    for (const { outbox } of this.#sessions) writePace(outbox.writer, pace.taskUs, pace.costUs);
  }
}
