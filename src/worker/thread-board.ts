const LIVE = 0;
const BELL = 1;
const CONSUMED = 2;
const INTEGERS = 4;

/**
 * What a task thread and the gRPC thread of its worker tell each other without messages, in shared memory: readable
 * also while the other one is busy.
 */
export class ThreadBoard {
  readonly memory: SharedArrayBuffer;
  readonly #integers: Int32Array;
  readonly #times: Float64Array;

  constructor(memory = new SharedArrayBuffer(INTEGERS * 4 + 8)) {
    this.memory = memory;
    this.#integers = new Int32Array(memory, 0, INTEGERS);
    this.#times = new Float64Array(memory, INTEGERS * 4, 1);
  }

  /** Tasks that have been started and have not ended. */
  get live(): number {
    return Atomics.load(this.#integers, LIVE);
  }

  set live(count: number) {
    Atomics.store(this.#integers, LIVE, count);
  }

  /** A task ended just now. */
  taskEnded(): void {
    this.#times[0] = Date.now();
  }

  /** When the last task ended, in milliseconds since the epoch; 0 when none has. */
  get lastEnded(): number {
    return this.#times[0] ?? 0;
  }

  /** Counts messages to the thread, so that it can look for one without entering its event loop. */
  ring(): void {
    Atomics.add(this.#integers, BELL, 1);
  }

  get rings(): number {
    return Atomics.load(this.#integers, BELL);
  }

  /** Adds to the bytes that the thread has taken in. Wraps around. */
  consume(bytes: number): void {
    Atomics.add(this.#integers, CONSUMED, bytes);
  }

  get consumed(): number {
    return Atomics.load(this.#integers, CONSUMED);
  }
}
