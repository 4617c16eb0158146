import { Timer } from "./timer.ts";

/** A point in time that can be moved nearer. It begins infinitely far away. Once it is set it keeps the program alive. */
export class Deadline {
  /** Resolves when it has passed. */
  readonly passed: Promise<void>;
  #at = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
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

  /** Makes it pass in `ms` milliseconds, unless it passes earlier anyway. `Infinity`: it never passes by itself. */
  shorten(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#at && this.#timer !== undefined) return;
    this.#at = Math.min(at, this.#at);
    this.#timer?.clear();
    this.#timer = new Timer(Math.max(0, ms), this.#pass);
    if (ms <= 0) this.#pass();
  }

  /** Frees the timer. It does not pass any more. */
  clear(): void {
    this.#timer?.clear();
  }
}
