import type { Call } from "../../call/index.ts";

/** Gaps and taken calls are cleared away when there are more of them than this, and more than calls that wait. */
const MANY = 1024;
/** How many waiting calls are looked at to estimate how long they will take. One look takes some 10 ns. */
const MOST_LOOKS = 16;

/** Calls that wait, in the order in which they were made. Adding, taking or withdrawing one takes constant time. */
export class CallQueue {
  /** Entries before `#head` were taken. A call that was withdrawn leaves a gap. */
  #calls: (Call | undefined)[] = [];
  #head = 0;
  #size = 0;

  /** Calls that wait. */
  get size(): number {
    return this.#size;
  }

  /**
   * How many of the waiting calls take `time` microseconds together, by the durations of earlier calls; at least 1, and 1 if one
   * of those that wait longest takes that long, or has not been measured.
   */
  run(time: number): number {
    let looks = 0;
    let parts = 0;
    const end = Math.min(this.#head + MOST_LOOKS, this.#calls.length);
    for (let i = this.#head; i < end; i++) {
      const call = this.#calls[i];
      if (call === undefined) continue;
      const run = (call.route.cost?.run(time) ?? 1) / call.size;
      if (run <= 1) return 1;
      looks++;
      parts += 1 / run;
    }
    return looks === 0 ? 1 : Math.max(1, Math.floor(looks / parts));
  }

  /** Whether the call that waits longest is a pack. */
  get hasPacks(): boolean {
    return this.#calls[this.#head]?.pack !== undefined;
  }

  push(call: Call): void {
    call.place = this.#calls.length;
    this.#calls.push(call);
    this.#size++;
  }

  /** Takes out a call, wherever it is. Ignores a call that is not here. */
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
    // Taken calls and their arguments must not stay in memory for as long as others wait.
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
