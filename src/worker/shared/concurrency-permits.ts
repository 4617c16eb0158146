const TAKEN = 0;
const LIMIT = 1;
/** The fields after these, for each thread: permits that it holds, tasks that wait in it. */
const FIRST_LANE = 2;
const PER_LANE = 2;

/**
 * Permits to run a task, in memory that the threads of a worker share: how many there are, and which thread holds how
 * many. Each thread takes and gives back its own. When a thread ends, the permits that it still held are given back for
 * it.
 */
export class ConcurrencyPermits {
  readonly memory: SharedArrayBuffer;
  readonly #counts: Int32Array;

  /** For `limit` tasks in `lanes` threads. */
  static of(limit: number, lanes: number): ConcurrencyPermits {
    const memory = new SharedArrayBuffer((FIRST_LANE + lanes * PER_LANE) * 4);
    new Int32Array(memory)[LIMIT] = limit;
    return new ConcurrencyPermits(memory);
  }

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#counts = new Int32Array(memory);
  }

  get isAnyFree(): boolean {
    return Atomics.load(this.#counts, TAKEN) < (this.#counts[LIMIT] ?? 0);
  }

  /** Takes a permit if one is free. */
  tryTake(lane: number): boolean {
    const counts = this.#counts;
    const limit = counts[LIMIT] ?? 0;
    for (let taken = Atomics.load(counts, TAKEN); taken < limit; ) {
      const seen = Atomics.compareExchange(counts, TAKEN, taken, taken + 1);
      if (seen === taken) {
        Atomics.add(counts, heldBy(lane), 1);
        return true;
      }
      taken = seen;
    }
    return false;
  }

  /** Takes a permit for a task that goes on, even if none is free. */
  take(lane: number): void {
    Atomics.add(this.#counts, TAKEN, 1);
    Atomics.add(this.#counts, heldBy(lane), 1);
  }

  giveBack(lane: number): void {
    Atomics.sub(this.#counts, heldBy(lane), 1);
    Atomics.sub(this.#counts, TAKEN, 1);
  }

  /** Sets how many tasks wait in a thread. */
  setWaiting(lane: number, count: number): void {
    Atomics.store(this.#counts, waitingIn(lane), count);
  }

  /** The other threads in which tasks wait, beginning after `lane`. */
  waitingAfter(lane: number): number[] {
    const lanes = (this.#counts.length - FIRST_LANE) / PER_LANE;
    const waiting: number[] = [];
    for (let step = 1; step < lanes; step++) {
      const other = (lane + step) % lanes;
      if (Atomics.load(this.#counts, waitingIn(other)) > 0) waiting.push(other);
    }
    return waiting;
  }

  /** Whether tasks wait in another thread. */
  doOthersWait(lane: number): boolean {
    return this.waitingAfter(lane).length > 0;
  }

  /** A thread has ended: its permits are free, and nothing waits in it. */
  reclaim(lane: number): void {
    this.setWaiting(lane, 0);
    Atomics.sub(this.#counts, TAKEN, Atomics.exchange(this.#counts, heldBy(lane), 0));
  }
}

function heldBy(lane: number): number {
  return FIRST_LANE + lane * PER_LANE;
}

function waitingIn(lane: number): number {
  return heldBy(lane) + 1;
}
