import type { Call } from "../../call/index.ts";

/** Gaps, and calls that were taken, are cleared away when they are more than this and more than the calls that wait. */
const MANY = 1024;
/** Calls that are looked at to tell what those that wait will take: a look takes some 10 ns. */
const MOST_LOOKS = 16;

/**
 * Calls that wait, in the order in which they were made. To add, take or withdraw one takes the same time however many
 * wait.
 */
export class CallQueue {
  /** Those before `#head` were taken. A call that was withdrawn leaves a gap. */
  #calls: (Call | undefined)[] = [];
  #head = 0;
  #size = 0;

  /** Calls that wait. */
  get size(): number {
    return this.#size;
  }

  /** How many calls of those that wait take `time` microseconds together, by what such calls took before; at least 1. */
  run(time: number): number {
    let run = Number.POSITIVE_INFINITY;
    const end = Math.min(this.#head + MOST_LOOKS, this.#calls.length);
    for (let i = this.#head; i < end && run > 1; i++) {
      const call = this.#calls[i];
      if (call !== undefined) run = Math.min(run, (call.route.cost?.run(time) ?? 1) / call.size);
    }
    return Number.isFinite(run) ? Math.max(1, Math.floor(run)) : 1;
  }

  push(call: Call): void {
    call.place = this.#calls.length;
    this.#calls.push(call);
    this.#size++;
  }

  /** Takes out a call, wherever it stands. One that is not here is left alone. */
  withdraw(call: Call): void {
    if (this.#calls[call.place] !== call) return;
    this.#calls[call.place] = undefined;
    this.#size--;
    this.#tidy();
  }

  /** Takes out the first call. */
  shift(): Call | undefined {
    return this.take(1)[0];
  }

  /** Takes out the first `count` calls, or all if there are fewer. */
  take(count: number): Call[] {
    const calls = this.#calls;
    const hasGaps = this.#size < calls.length - this.#head;
    if (!hasGaps && this.#head === 0 && count >= calls.length) {
      this.#clear();
      return calls as Call[];
    }
    const taken = hasGaps ? this.#skipGaps(count) : this.#cut(count);
    this.#size -= taken.length;
    this.#tidy();
    return taken;
  }

  #cut(count: number): Call[] {
    const from = this.#head;
    this.#head = Math.min(from + count, this.#calls.length);
    const taken = this.#calls.slice(from, this.#head);
    // Calls and their arguments are not kept for as long as others wait.
    this.#calls.fill(undefined, from, this.#head);
    return taken as Call[];
  }

  #skipGaps(count: number): Call[] {
    const calls = this.#calls;
    const taken: Call[] = [];
    while (taken.length < count && this.#head < calls.length) {
      const call = calls[this.#head];
      if (call !== undefined) taken.push(call);
      calls[this.#head++] = undefined;
    }
    return taken;
  }

  #tidy(): void {
    if (this.#size === 0) return this.#clear();
    const waste = this.#calls.length - this.#size;
    if (waste <= MANY || waste <= this.#size) return;
    const waiting = this.#calls.filter((call) => call !== undefined);
    this.#clear();
    for (const call of waiting) this.push(call);
  }

  #clear(): void {
    this.#calls = [];
    this.#head = 0;
    this.#size = 0;
  }
}
