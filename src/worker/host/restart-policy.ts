/** When a crashed process is started again, and when it is given up. */
export interface RestartOptions {
  /** Milliseconds before the first restart; doubled for each crash that follows within the `window`. Default: 100. */
  readonly firstDelay?: number;
  /** Longest time before a restart, in milliseconds. Default: 10,000. */
  readonly longestDelay?: number;
  /** Crashes within the `window` after which the worker is given up. Default: 5. */
  readonly crashLimit?: number;
  /** How long a crash counts, in milliseconds. Default: 60,000. */
  readonly window?: number;
}

/** Counts crashes and decides what to do after each. */
export class RestartPolicy {
  readonly crashLimit: number;
  readonly window: number;
  readonly #firstDelay: number;
  readonly #longestDelay: number;
  readonly #now: () => number;
  readonly #random: () => number;
  #crashes: number[] = [];

  /** `now` is a clock in milliseconds, `random` returns numbers from 0 to 1, without 1. */
  constructor(
    options: RestartOptions,
    now: () => number = () => performance.now(),
    random: () => number = Math.random,
  ) {
    const { firstDelay = 100, longestDelay = 10_000, crashLimit = 5, window = 60_000 } = options;
    this.crashLimit = crashLimit;
    this.window = window;
    this.#firstDelay = firstDelay;
    this.#longestDelay = longestDelay;
    this.#now = now;
    this.#random = random;
  }

  /**
   * Counts a crash. Returns the milliseconds to wait before the next start, or `undefined` if there should be none.
   * Half of it is random, so that workers that crashed together do not start together.
   */
  crashed(): number | undefined {
    const now = this.#now();
    this.#crashes = this.#crashes.filter((at) => now - at < this.window);
    this.#crashes.push(now);
    if (this.#crashes.length >= this.crashLimit) return undefined;
    const delay = Math.min(this.#longestDelay, this.#firstDelay * 2 ** (this.#crashes.length - 1));
    return delay * (0.5 + this.#random() / 2);
  }
}
