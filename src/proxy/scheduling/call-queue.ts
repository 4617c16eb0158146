import type { Call } from "../../call/index.ts";

/** Calls that were handed out are forgotten when they are no fewer than this. */
const LONG = 1024;

/**
 * Calls in the order in which they were made, of which those before `head` have been handed out. Whoever does that takes
 * them out of the list, or they and their arguments would stay as long as others wait.
 */
export class CallQueue {
  calls: (Call | undefined)[] = [];
  head = 0;
  /** Calls that come before all others after the next `compact`. */
  #front: Call[] = [];
  /** Calls that were withdrawn and are still there. */
  #holes = 0;

  /** Calls that wait. */
  get size(): number {
    return this.calls.length - this.head + this.#front.length - this.#holes;
  }

  get isEmpty(): boolean {
    return this.head === this.calls.length && this.#front.length === 0;
  }

  push(call: Call): void {
    this.calls.push(call);
  }

  /** Puts a call before all others, from the next `compact` on. */
  pushFront(call: Call): void {
    this.#front.push(call);
  }

  /** A call in it was withdrawn. It stays where it is until `compact`. */
  withdrawn(): void {
    this.#holes++;
  }

  /** Leaves out what was withdrawn, and puts in front what belongs there. */
  compact(): void {
    if (this.#holes > 0 || this.#front.length > 0) this.calls = this.takeAll();
  }

  /** Forgets the calls that were handed out, once they are most of them. */
  trim(): void {
    if (this.head === this.calls.length) this.calls = [];
    else if (this.head < LONG || this.head < this.calls.length / 2) return;
    else this.calls = this.calls.slice(this.head);
    this.head = 0;
  }

  /** Takes out every call that waits. */
  takeAll(): Call[] {
    const waiting = [...this.#front, ...this.calls.slice(this.head)].filter(
      (call): call is Call => call?.state === "waiting",
    );
    this.calls = [];
    this.head = 0;
    this.#front = [];
    this.#holes = 0;
    return waiting;
  }
}
