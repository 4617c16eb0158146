import type { TaskOfSession, ThreadBoard } from "../shared/index.ts";

/** How long a task may go on in its thread after its time is over or it was cancelled, in milliseconds. */
const GRACE_MS = 1000;
/** How long a suspected thread may take to show that its event loop turns, in milliseconds. */
const ANSWER_MS = 500;
const LOOK_MS = 100;
/**
 * After how many checks a thread with tasks is asked in any case. It notices then that a task has replaced a part of the
 * language, also if it does nothing else because of that.
 */
const CHECKS_PER_PING = 10;
/** Most notes on one session: the default limit on the live tasks of a caller. */
const MOST_NOTES = 100_000;
/** How long a thread whose event loop turns may take to read a message from a lane, in milliseconds. */
const LANE_MS = 10_000;

/** A task thread as its watchdog sees it. */
export interface WatchedThread {
  readonly board: ThreadBoard;
  /** Weight of the messages handed to the thread so far. Wraps around. */
  readonly posted: number;
  /** Asks the thread to show `ping` on its board. */
  ping(ping: number): void;
}

interface Unwanted {
  readonly session: number;
  /** Undefined means all tasks of the session. */
  readonly id: number | undefined;
  readonly at: number;
  /** How many pings had been sent before. */
  readonly pings: number;
  /** Whether the thread has read the cancellation, if it went through a lane. Otherwise a ping shows that. */
  readonly isKnown?: (() => boolean) | undefined;
}

/** Why a thread is given up, and the task that caused it, if that is certain. */
export interface Blockage {
  readonly reason: string;
  readonly task: TaskOfSession | undefined;
}

/**
 * Notices a task that blocks its thread although its time is over or nobody waits for it. It does nothing about a task
 * that is still wanted, however long it keeps its thread busy. A thread whose event loop turns takes care of its tasks
 * itself.
 *
 * `resting` until the thread is handed something, then `looking`, and `over` when the thread is given up.
 */
export class ThreadWatchdog {
  readonly #thread: WatchedThread;
  readonly #blocked: (blockage: Blockage) => void;
  #state: "resting" | "looking" | "over" = "resting";
  #timer: NodeJS.Timeout | undefined;
  /** Tasks that nobody waits for, and that the thread may not know of yet, oldest first. By session and task. */
  readonly #unwanted = new Map<string, Unwanted>();
  /** How many notes there are for each session. */
  readonly #noted = new Map<number, number>();
  #pings = 0;
  #checks = 0;
  /** When the unanswered ping was sent. */
  #pingedAt: number | undefined;
  /** The messages that had come through lanes at the last check. */
  #arrivals = 0;
  #suspectedAt: number | undefined;

  /** `blocked` is called at most once. */
  constructor(thread: WatchedThread, blocked: (blockage: Blockage) => void) {
    this.#thread = thread;
    this.#blocked = blocked;
  }

  /** The thread was handed something to do. */
  wake(): void {
    if (this.#state !== "resting") return;
    this.#state = "looking";
    this.#thread.board.isWatched = true;
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /**
   * The caller of a task does not wait for it any more, and the thread was told so. `isKnown`: whether the thread has
   * read that.
   */
  cancelled(session: number, id: number, isKnown?: () => boolean): void {
    this.#note(session, id, isKnown);
  }

  /** The caller of a session is gone, and the thread was told so. */
  abandoned(session: number): void {
    this.#note(session, undefined);
  }

  /** The thread ends or has ended. */
  close(): void {
    clearInterval(this.#timer);
    this.#state = "over";
    this.#forget();
  }

  #note(session: number, id: number | undefined, isKnown?: () => boolean): void {
    if (this.#state === "over") return;
    this.wake();
    const key = keyOf(session, id);
    const noted = this.#noted.get(session) ?? 0;
    if (this.#unwanted.has(key) || (noted >= MOST_NOTES && id !== undefined)) return;
    this.#unwanted.set(key, { session, id, at: Date.now(), pings: this.#pings, isKnown });
    this.#noted.set(session, noted + 1);
  }

  /** Drops the notes that the thread knows of: it takes care of them itself. */
  #forget(isKnown: (unwanted: Unwanted) => boolean = () => true): void {
    for (const [key, unwanted] of this.#unwanted) {
      if (!isKnown(unwanted)) continue;
      this.#unwanted.delete(key);
      const { session } = unwanted;
      const noted = (this.#noted.get(session) ?? 0) - 1;
      if (noted > 0) this.#noted.set(session, noted);
      else this.#noted.delete(session);
    }
  }

  #look(): void {
    const now = Date.now();
    const hasAnswered = this.#pingedAt !== undefined && this.#thread.board.answered === this.#pings;
    if (hasAnswered) this.#pingedAt = undefined;
    this.#forget(({ at, pings, isKnown }) => {
      if (isKnown?.() === true) return true;
      return hasAnswered && (isKnown === undefined ? pings < this.#pings : now > at + LANE_MS);
    });
    const blockage = this.#suspicion(now);
    if (blockage !== undefined) this.#suspect(blockage);
    else {
      this.#suspectedAt = undefined;
      if (this.#isQuiet()) this.#rest();
      else if (this.#unwanted.size > 0 || ++this.#checks % CHECKS_PER_PING === 0) this.#ask();
    }
  }

  /** Whether nothing runs, and nothing has come since the last check. The thread reports later messages itself. */
  #isQuiet(): boolean {
    const { board, posted } = this.#thread;
    if (board.live > 0 || board.consumed !== posted) return false;
    for (const { isKnown } of this.#unwanted.values()) if (isKnown !== undefined) return false;
    board.isWatched = false;
    const { arrivals } = board;
    if (arrivals === this.#arrivals) return true;
    this.#arrivals = arrivals;
    board.isWatched = true;
    return false;
  }

  #suspect(blockage: Blockage): void {
    const now = performance.now();
    this.#suspectedAt ??= now;
    if (now - Math.max(this.#ask(), this.#suspectedAt) < ANSWER_MS) return;
    this.close();
    this.#blocked(blockage);
  }

  /**
   * Asks the thread to show that its event loop turns, and that it has read everything before. Returns when it was
   * asked.
   */
  #ask(): number {
    if (this.#pingedAt !== undefined) return this.#pingedAt;
    this.#pingedAt = performance.now();
    this.#thread.ping(++this.#pings);
    return this.#pingedAt;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#state = "resting";
    this.#forget();
    this.#pingedAt = undefined;
  }

  /** Why the thread should have come back to its event loop by now. */
  #suspicion(now: number): Blockage | undefined {
    const { board } = this.#thread;
    const occupying = board.occupying;
    if (occupying !== undefined) {
      const { session, id, deadline } = occupying;
      if (now > deadline + GRACE_MS) return { reason: "a task blocked it beyond its timeout", task: occupying };
      const isUnwanted = this.#isUnwanted(now, session, id) || this.#isUnwanted(now, session, undefined);
      return isUnwanted ? { reason: "a task that nobody waited for blocked it", task: occupying } : undefined;
    }
    if (board.live === 0) return undefined;
    const task = board.soleTask < 0 ? undefined : { session: board.soleSession, id: board.soleTask };
    const [who, their] = task === undefined ? ["tasks", "their timeouts"] : ["a task", "its timeout"];
    if (now > board.lastDeadline + GRACE_MS) return { reason: `${who} blocked it beyond ${their}`, task };
    return this.#areAllUnwanted(now) ? { reason: `${who} that nobody waited for blocked it`, task } : undefined;
  }

  /** Whether the task was noted so long ago that the thread should know. */
  #isUnwanted(now: number, session: number, id: number | undefined): boolean {
    const noted = this.#unwanted.get(keyOf(session, id));
    return noted !== undefined && now > noted.at + GRACE_MS;
  }

  /** Whether all live tasks are unwanted. False if that is uncertain, as with tasks of several sessions. */
  #areAllUnwanted(now: number): boolean {
    const { live, soleSession, soleTask } = this.#thread.board;
    if (this.#isUnwanted(now, soleSession, undefined)) return true;
    if (soleTask >= 0) return this.#isUnwanted(now, soleSession, soleTask);
    if ((this.#noted.get(soleSession) ?? 0) < live) return false;
    let count = 0;
    for (const { session, id } of this.#unwanted.values()) {
      if (session === soleSession && this.#isUnwanted(now, session, id)) count++;
    }
    return count >= live;
  }
}

/** Without an id: all tasks of the session. */
function keyOf(session: number, id: number | undefined): string {
  return `${session} ${id ?? "all"}`;
}
