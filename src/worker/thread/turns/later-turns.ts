import { FairQueue } from "./fair-queue.ts";
import type { TurnTaker } from "./fair-ring.ts";

/** Longest time that a thread works without a turn of the event loop, in milliseconds. */
export const SLICE_MS = 2;

/** The time until the event loop should have its next turn. */
export class TimeSlice {
  /** On the clock of `performance.now`. */
  end = 0;

  /** A turn of the event loop begins. */
  begin(): void {
    this.end = performance.now() + SLICE_MS;
  }

  get isOver(): boolean {
    return performance.now() >= this.end;
  }
}

/**
 * What goes on later in a thread: generators that run ahead, packs, tasks whose code has come. Callers take turns, however
 * much each of them has to do, and the event loop has a turn when a slice is over.
 */
export class LaterTurns {
  readonly #slice: TimeSlice;
  readonly #waiting = new FairQueue<TurnTaker, () => void>();
  #isScheduled = false;
  /** Those that may go on in this turn of the event loop: not those that have gone on in it, and wait again. */
  #left = 0;
  readonly #beginNow = (): void => this.#begin();
  readonly #goOnNow = (): void => this.#goOn();

  constructor(slice: TimeSlice) {
    this.#slice = slice;
  }

  /** Calls `go` when it is the turn of its owner, in a later turn of the event loop. */
  wait(owner: TurnTaker, go: () => void): void {
    this.#waiting.push(owner, go);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#beginNow);
  }

  #begin(): void {
    this.#slice.begin();
    this.#left = this.#waiting.size;
    this.#next();
  }

  #next(): void {
    const go = this.#waiting.shift();
    this.#left--;
    // Whatever it does in promises that have settled comes before the next one.
    queueMicrotask(() => process.nextTick(this.#goOnNow));
    go?.();
  }

  #goOn(): void {
    if (this.#left > 0 && !this.#slice.isOver) return this.#next();
    this.#isScheduled = this.#waiting.size > 0;
    if (this.#isScheduled) setImmediate(this.#beginNow);
  }
}
