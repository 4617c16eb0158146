const FIRST_MS = 100;
const LAST_MS = 10_000;

/**
 * Waiting times that double from 100 ms to 10 s; half of each is random, so that many programs do not come back at
 * once.
 */
export class Backoff {
  #wait = FIRST_MS;

  /** The next waiting time in milliseconds. */
  next(): number {
    const wait = this.#wait;
    this.#wait = Math.min(2 * wait, LAST_MS);
    return wait / 2 + (Math.random() * wait) / 2;
  }

  /** Call it after a success: the next wait is short again. */
  reset(): void {
    this.#wait = FIRST_MS;
  }
}
