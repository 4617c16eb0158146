/** Longest delay that `setTimeout` accepts, in milliseconds. It treats anything longer as 1. */
export const LONGEST_DELAY_MS = 2_147_483_647;

/** One function for all timers, so that starting one makes no closure. */
let elapse: (timer: Timer) => void;

/**
 * Calls a function once a duration is over. Accepts every duration: 0, fractions, more than `setTimeout` accepts, and
 * `Infinity`, which is never over. Keeps the program alive until then, unless it is unreferenced.
 */
export class Timer {
  readonly #call: () => void;
  /** When the duration is over, by the clock of `performance`; needed only for one that takes several delays. */
  readonly #end: number;
  #timeout: NodeJS.Timeout;
  #keepsAlive = true;

  /** @param ms - milliseconds, zero or more */
  constructor(ms: number, call: () => void) {
    this.#call = call;
    this.#end = ms > LONGEST_DELAY_MS ? performance.now() + ms : 0;
    this.#timeout = setTimeout(elapse, delayFor(ms), this);
  }

  static {
    elapse = (timer) => timer.#elapse();
  }

  /** Does not call the function any more. */
  clear(): void {
    clearTimeout(this.#timeout);
  }

  /** No longer keeps the program alive. */
  unref(): this {
    this.#keepsAlive = false;
    this.#timeout.unref();
    return this;
  }

  #elapse(): void {
    const left = this.#end === 0 ? 0 : this.#end - performance.now();
    if (left <= 0) {
      this.#call();
      return;
    }
    this.#timeout = setTimeout(elapse, delayFor(left), this);
    if (!this.#keepsAlive) this.#timeout.unref();
  }
}

/** `setTimeout` cuts fractions off; a timer is never early. */
function delayFor(ms: number): number {
  return Math.min(Math.ceil(ms), LONGEST_DELAY_MS);
}
