const LIVE = 0;
const ARRIVALS = 1;
const CONSUMED = 2;
const ANSWERED = 3;
const OCCUPIED_SESSION = 4;
const OCCUPIED_TASK = 5;
const SOLE_SESSION = 6;
const SOLE_TASK = 7;
const WATCHED = 8;
const INTEGERS = 10;

const LAST_ENDED = 0;
const OCCUPIED_DEADLINE = 1;
const LAST_DEADLINE = 2;
const TIMES = 3;

/** Identifies a task of a thread. */
export interface TaskOfSession {
  readonly session: number;
  /** The task's id in its session. */
  readonly id: number;
}

/** The task whose code a thread is in right now, without having returned to its event loop. */
export interface OccupyingTask extends TaskOfSession {
  /** In milliseconds since the epoch; Infinity for none. */
  readonly deadline: number;
}

/**
 * Shared memory in which a task thread and the gRPC thread of its worker tell each other their state, without messages.
 * Each can read it while the other one is busy.
 */
export class ThreadBoard {
  readonly memory: SharedArrayBuffer;
  readonly #integers: Int32Array;
  readonly #times: Float64Array;

  constructor(memory = new SharedArrayBuffer(INTEGERS * 4 + TIMES * 8)) {
    this.memory = memory;
    this.#integers = new Int32Array(memory, 0, INTEGERS);
    this.#times = new Float64Array(memory, INTEGERS * 4, TIMES);
  }

  /** Tasks that have been started and have not ended. */
  get live(): number {
    return Atomics.load(this.#integers, LIVE);
  }

  set live(count: number) {
    Atomics.store(this.#integers, LIVE, count);
  }

  /** The session that all live tasks belong to; 0 when there are no live tasks, or tasks of several sessions. */
  get soleSession(): number {
    return this.#integers[SOLE_SESSION] ?? 0;
  }

  set soleSession(session: number) {
    this.#integers[SOLE_SESSION] = session;
  }

  /** The id of the only live task in its session; -1 when there are others, or it is not known. */
  get soleTask(): number {
    return this.#integers[SOLE_TASK] ?? -1;
  }

  set soleTask(id: number) {
    this.#integers[SOLE_TASK] = id;
  }

  /** A task has just ended. */
  taskEnded(): void {
    this.#times[LAST_ENDED] = Date.now();
  }

  /** When the last task ended, in milliseconds since the epoch; 0 when none has. */
  get lastEnded(): number {
    return this.#times[LAST_ENDED] ?? 0;
  }

  /** Counts a message that came through a lane. Returns true if nobody watches the thread: then tell the gRPC thread. */
  arrived(): boolean {
    Atomics.add(this.#integers, ARRIVALS, 1);
    if (Atomics.load(this.#integers, WATCHED) === 1) return false;
    Atomics.store(this.#integers, WATCHED, 1);
    return true;
  }

  /** How many messages have come through lanes. Wraps around. */
  get arrivals(): number {
    return Atomics.load(this.#integers, ARRIVALS);
  }

  /** Whether the gRPC thread watches this thread. */
  set isWatched(isWatched: boolean) {
    Atomics.store(this.#integers, WATCHED, isWatched ? 1 : 0);
  }

  /** Adds to the weight of the messages that the thread has read. Wraps around. */
  consume(weight: number): void {
    Atomics.add(this.#integers, CONSUMED, weight);
  }

  get consumed(): number {
    return Atomics.load(this.#integers, CONSUMED);
  }

  /** The number of the last ping that the thread has seen. */
  get answered(): number {
    return Atomics.load(this.#integers, ANSWERED);
  }

  set answered(ping: number) {
    Atomics.store(this.#integers, ANSWERED, ping);
  }

  /** The thread enters the code of a task. */
  occupy(session: number, id: number, deadline: number): void {
    this.#times[OCCUPIED_DEADLINE] = deadline;
    this.#integers[OCCUPIED_TASK] = id;
    this.#integers[OCCUPIED_SESSION] = session;
  }

  /** The code of a task has returned. */
  vacate(): void {
    this.#integers[OCCUPIED_SESSION] = 0;
  }

  /**
   * The task whose code the thread runs. Undefined if it runs none, or code after an `await`, which may belong to any
   * task.
   */
  get occupying(): OccupyingTask | undefined {
    const session = Atomics.load(this.#integers, OCCUPIED_SESSION);
    if (session === 0) return undefined;
    return { session, id: this.#integers[OCCUPIED_TASK] ?? 0, deadline: this.#times[OCCUPIED_DEADLINE] ?? 0 };
  }

  /** The latest deadline of all live tasks, in milliseconds since the epoch; Infinity if one has none. */
  get lastDeadline(): number {
    return this.#times[LAST_DEADLINE] ?? 0;
  }

  set lastDeadline(time: number) {
    this.#times[LAST_DEADLINE] = time;
  }
}
