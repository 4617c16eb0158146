import type { TaskOfSession, ThreadBoard } from "../shared/index.ts";

/** How long a task may go on in its thread after its time is over or it was cancelled, in milliseconds. */
const GRACE_MS = 1000;
/** How long a thread that is suspected may take to show that its event loop turns, in milliseconds. */
const ANSWER_MS = 500;
const LOOK_MS = 100;

/** A task thread as its watchdog sees it. */
export interface WatchedThread {
  readonly board: ThreadBoard;
  /** Bytes handed to the thread so far. Wraps around. */
  readonly posted: number;
  /** Asks the thread to show `ping` on its board. */
  ping(ping: number): void;
}

interface Unwanted {
  readonly session: number;
  /** Undefined for all tasks of the session. */
  readonly id: number | undefined;
  readonly at: number;
}

/** Why a thread is given up, and the task whose fault that is, if that is certain. */
export interface Blockage {
  readonly reason: string;
  readonly task: TaskOfSession | undefined;
}

/**
 * Notices a task that blocks its thread although its time is over or nobody waits for it. Only such a task: a thread that is
 * busy for long with a task that is wanted goes on. A thread whose event loop turns takes care of its tasks itself.
 *
 * `resting` until the thread is handed something, then `looking`, and `over` when the thread is given up.
 */
export class ThreadWatchdog {
  readonly #thread: WatchedThread;
  readonly #blocked: (blockage: Blockage) => void;
  #state: "resting" | "looking" | "over" = "resting";
  #timer: NodeJS.Timeout | undefined;
  /** What the thread was told that nobody waits for, and may not know yet, in that order. */
  #unwanted: Unwanted[] = [];
  #pings = 0;
  /** The ping that the thread has not answered: when it was sent, and how many notes it was sent after. */
  #pinged: { readonly at: number; readonly notes: number } | undefined;
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
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** The caller of a task no longer waits for it, and the thread was told so. */
  cancelled(session: number, id: number): void {
    this.#note({ session, id, at: Date.now() });
  }

  /** The caller of a session is gone, and the thread was told so. */
  abandoned(session: number): void {
    this.#note({ session, id: undefined, at: Date.now() });
  }

  /** The thread ends or has ended. */
  close(): void {
    clearInterval(this.#timer);
    this.#state = "over";
    this.#unwanted = [];
  }

  #note(unwanted: Unwanted): void {
    if (this.#state === "over") return;
    this.#unwanted.push(unwanted);
    this.wake();
  }

  #look(): void {
    const { board, posted } = this.#thread;
    if (this.#pinged !== undefined && board.answered === this.#pings) {
      // What it was told before the ping it knows, and takes care of.
      this.#unwanted.splice(0, this.#pinged.notes);
      this.#pinged = undefined;
    }
    const blockage = this.#suspicion(Date.now());
    if (blockage !== undefined) this.#suspect(blockage);
    else {
      this.#suspectedAt = undefined;
      if (board.live === 0 && board.consumed === posted) this.#rest();
      else if (this.#unwanted.length > 0) this.#ask();
    }
  }

  #suspect(blockage: Blockage): void {
    const now = performance.now();
    this.#suspectedAt ??= now;
    const { at } = this.#ask();
    if (now - Math.max(at, this.#suspectedAt) < ANSWER_MS) return;
    this.close();
    this.#blocked(blockage);
  }

  /** Has the thread show that its event loop turns, and that it knows what it was told before. */
  #ask(): { readonly at: number } {
    if (this.#pinged !== undefined) return this.#pinged;
    this.#pinged = { at: performance.now(), notes: this.#unwanted.length };
    this.#thread.ping(++this.#pings);
    return this.#pinged;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#state = "resting";
    this.#unwanted = [];
    this.#pinged = undefined;
  }

  /** Why the thread should have come back to its event loop by now. */
  #suspicion(now: number): Blockage | undefined {
    const { board } = this.#thread;
    const old = this.#unwanted.filter(({ at }) => now > at + GRACE_MS);
    const occupying = board.occupying;
    if (occupying !== undefined) {
      const { session, id, deadline } = occupying;
      if (now > deadline + GRACE_MS) return { reason: "a task blocked it beyond its timeout", task: occupying };
      const isUnwanted = old.some((each) => each.session === session && (each.id === undefined || each.id === id));
      return isUnwanted ? { reason: "a task that nobody waited for blocked it", task: occupying } : undefined;
    }
    if (board.live === 0) return undefined;
    const task = board.soleTask < 0 ? undefined : { session: board.soleSession, id: board.soleTask };
    const [who, their] = task === undefined ? ["tasks", "their timeouts"] : ["a task", "its timeout"];
    if (now > board.lastDeadline + GRACE_MS) return { reason: `${who} blocked it beyond ${their}`, task };
    return this.#areAllUnwanted(old) ? { reason: `${who} that nobody waited for blocked it`, task } : undefined;
  }

  /** Whether that is certain of all live tasks. It never is of tasks of several sessions. */
  #areAllUnwanted(unwanted: readonly Unwanted[]): boolean {
    const { live, soleSession, soleTask } = this.#thread.board;
    const ids = new Set(unwanted.filter(({ session }) => session === soleSession).map(({ id }) => id));
    if (ids.has(undefined)) return true;
    return soleTask < 0 ? ids.size >= live : ids.has(soleTask);
  }
}
