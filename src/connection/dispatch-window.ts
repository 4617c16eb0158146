const LARGEST = 512;
/** How much work, in milliseconds, may wait at a worker behind what it is doing. */
const TARGET_QUEUE_MS = 2.5;
const FALL = 0.5;

interface SentBatch {
  unstarted: number;
  /** Tasks that had not been started when the batch was sent, its own included. */
  readonly ahead: number;
  readonly sentAt: number;
}

/**
 * Bounds how many tasks are at a worker and not yet started. What is beyond stays with the caller, where it can still
 * go to whoever is free. One task at first; then as many as the worker starts in a few milliseconds.
 */
export class DispatchWindow {
  #limit = 1;
  #unstarted = 0;
  /** Smoothed milliseconds that a task waits for each one ahead of it. */
  #service = TARGET_QUEUE_MS;
  readonly #batches: SentBatch[] = [];

  /** Tasks that may be sent now. */
  get room(): number {
    return this.#limit - this.#unstarted;
  }

  get limit(): number {
    return this.#limit;
  }

  get unstarted(): number {
    return this.#unstarted;
  }

  sent(count: number, now: number): void {
    this.#unstarted += count;
    this.#batches.push({ unstarted: count, ahead: this.#unstarted, sentAt: now });
  }

  /** Tasks were started, in about the order in which they were sent. */
  started(count: number, now: number): void {
    this.#unstarted -= count;
    let rest = count;
    for (let batch = this.#batches[0]; rest > 0 && batch !== undefined; batch = this.#batches[0]) {
      const taken = Math.min(rest, batch.unstarted);
      batch.unstarted -= taken;
      rest -= taken;
      if (batch.unstarted > 0) break;
      this.#batches.shift();
      this.#observe((now - batch.sentAt) / batch.ahead);
    }
  }

  #observe(service: number): void {
    // Slower counts at once, faster by halves: too small a window costs a round trip, too large a one a long wait.
    this.#service = service > this.#service ? service : this.#service + (service - this.#service) * FALL;
    this.#limit = Math.max(1, Math.min(LARGEST, Math.floor(TARGET_QUEUE_MS / this.#service)));
  }
}
