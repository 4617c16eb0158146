/** Longest delay that a timer takes, in milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** A point in time that can be moved nearer. It begins infinitely far away. */
export class Deadline {
  /** Resolves when it has passed. */
  readonly passed: Promise<void>;
  #at = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #pass: () => void = () => undefined;

  constructor() {
    this.passed = new Promise((resolve) => {
      this.#pass = resolve;
    });
  }

  /** Milliseconds left; `Infinity` when it was never set. */
  get left(): number {
    return Math.max(0, this.#at - performance.now());
  }

  /** Lets it pass in `ms` milliseconds, unless it would before. `Infinity` changes nothing. */
  shorten(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#at) return;
    this.#at = at;
    clearTimeout(this.#timer);
    if (ms <= 0) this.#pass();
    else this.#timer = setTimeout(this.#pass, Math.min(ms, LONGEST_TIMER_MS));
  }

  /** Frees the timer. It does not pass any more. */
  clear(): void {
    clearTimeout(this.#timer);
  }
}
