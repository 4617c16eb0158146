/** Frees the resources of the producer of a queue. */
export type Release = () => void | Promise<void>;

/** The producer's side of an `EventQueue`. After the end of the queue all of these do nothing. */
export interface EventSink<T> {
  push(event: T): void;
  /** Ends the queue after the events that were pushed so far. */
  end(): void;
  /** Ends the queue with an error after the events that were pushed so far. */
  fail(error: unknown): void;
}

interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: unknown): void;
}

/**
 * Events on their way from a producer to one consumer.
 *
 * - `idle`: nothing runs; the first `next()` starts the producer.
 * - `open`: the producer runs.
 * - `draining`: the producer has ended and is released; its last events are still to be read.
 * - `closed`: the consumer called `return()`, or has read everything.
 */
export class EventQueue<T> implements AsyncIterableIterator<T, undefined, undefined>, EventSink<T>, AsyncDisposable {
  #state: "idle" | "open" | "draining" | "closed" = "idle";
  readonly #start: (sink: EventSink<T>) => Release;
  readonly #events: { readonly event: T }[] = [];
  readonly #waiters: Waiter<T>[] = [];
  #failure: { readonly error: unknown } | undefined;
  #release: Release | undefined;
  #released: Promise<void> | undefined;

  /** `start` begins producing. It returns a function that frees the producer's resources, which is called exactly once. */
  constructor(start: (sink: EventSink<T>) => Release) {
    this.#start = start;
  }

  push(event: T): void {
    if (this.#state !== "open") return;
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#events.push({ event });
    else waiter.resolve({ done: false, value: event });
  }

  end(): void {
    this.#drain(undefined);
  }

  fail(error: unknown): void {
    this.#drain({ error });
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#state === "idle") this.#open();
    return new Promise((resolve, reject) => {
      const buffered = this.#events.shift();
      if (buffered !== undefined) resolve({ done: false, value: buffered.event });
      else if (this.#state === "open") this.#waiters.push({ resolve, reject });
      else this.#finish({ resolve, reject });
    });
  }

  /** Stops the producer, drops its events, and resolves when its resources are free. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#events.length = 0;
    this.#failure = undefined;
    this.#state = "closed";
    for (const waiter of this.#waiters.splice(0)) this.#finish(waiter);
    await this.#releaseOnce();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #open(): void {
    this.#state = "open";
    try {
      this.#release = this.#start(this);
    } catch (error) {
      this.fail(error);
      return;
    }
    // The producer may have ended while it started.
    if (this.#isOver()) this.#releaseOnce().catch(ignore);
  }

  #isOver(): boolean {
    return this.#state === "draining" || this.#state === "closed";
  }

  #drain(failure: { readonly error: unknown } | undefined): void {
    if (this.#isOver()) return;
    this.#state = "draining";
    this.#failure = failure;
    for (const waiter of this.#waiters.splice(0)) this.#finish(waiter);
    this.#releaseOnce().catch(ignore);
  }

  /** Tells a reader that the queue has ended: the error once, after that only the end. */
  #finish(waiter: Waiter<T>): void {
    const failure = this.#failure;
    this.#failure = undefined;
    this.#state = "closed";
    if (failure === undefined) waiter.resolve({ done: true, value: undefined });
    else waiter.reject(failure.error);
  }

  async #releaseOnce(): Promise<void> {
    if (this.#release !== undefined) {
      const release = this.#release;
      this.#release = undefined;
      this.#released = (async () => release())();
    }
    await this.#released;
  }
}

/**
 * Errors of the release reach the caller of `return()`. The end of the queue itself must not cause an unhandled
 * rejection.
 */
function ignore(): void {}
