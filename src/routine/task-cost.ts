/** Factor by which the weight of earlier readings in the mean shrinks with each new one. */
const KEPT = 127 / 128;
/**
 * The same for the first readings, and how many those are. They include compiling the code, once in each thread: after 200 calls
 * each, 1000 trivial routines still seemed to take 5 to 10 us a call, and woke two threads for 100 calls.
 */
const KEPT_AT_FIRST = 1 / 2;
const FIRST = 16;
/** A task of this many microseconds is worth a thread by itself. Waking a thread takes 50 to 500. */
const LONG_US = 1000;
/** Readings of messages of one size before they count, and readings of other sizes after which they count no more. */
const FEWEST = 4;
const FRESH = 256;
/** The largest change of a typical time by one reading is a factor of one and a part of this. */
const STEPS = 10;

/** Messages with about as many tasks: from a power of two to the next. */
interface SizeClass {
  /** How long such a message typically takes, in microseconds: half of them take longer. */
  typical: number;
  /** How many tasks it has on average. */
  tasks: number;
  readings: number;
  /** The number of the last reading of any size when it was read. */
  last: number;
}

/**
 * How long tasks of a routine keep a thread busy, in microseconds. Workers measure it for each message of results. For
 * trivial tasks, waking the thread takes most of the time: a message of 1 took 600 us on a busy machine, and one of 10
 * took 600. So the time for one more task is the difference between typical messages of many and of few tasks, divided by
 * the difference of their numbers. Single readings can be off by a factor of 20, and a line through all readings follows
 * those: 40 workers on two busy cores stayed at 15,000 trivial calls/s at most in 4 of 6 runs with it, and in 3 of 6 with
 * this. With the limit of awake threads in `Runs`, they reached 100,000 after 2.3 and 2.0 s (medians).
 */
export class TaskCost {
  #readings = 0;
  #tasks = 0;
  #time = 0;
  /** By the logarithm of the number of tasks. */
  readonly #sizes: (SizeClass | undefined)[] = [];
  /** How long one more task takes; undefined if that must be found out. */
  #more: number | undefined;
  /** Its tasks in the message that is being read. */
  #counted = 0;

  /** So many tasks of the message that is being read belong to this routine. Call `measured` when all have been counted. */
  count(tasks: number): void {
    this.#counted += tasks;
  }

  /** Adds a reading of the tasks that were counted, if there are any, in a message of `all` tasks. */
  measured(microseconds: number, all: number): void {
    const tasks = this.#counted;
    this.#counted = 0;
    if (tasks > 0) this.add(tasks, microseconds, all);
  }

  /**
   * Adds a reading: a message of `all` tasks, `tasks` of them of this routine, each of which took this long. With the tasks of
   * this routine for its size, a message of one call each of 100 routines would look like 100 messages of one.
   */
  add(tasks: number, microseconds: number, all = tasks): void {
    const time = all * microseconds;
    const kept = this.#readings < FIRST ? KEPT_AT_FIRST : KEPT;
    this.#tasks = this.#tasks * kept + tasks;
    this.#time = this.#time * kept + tasks * microseconds;
    this.#more = undefined;
    this.#readings++;
    const place = 31 - Math.clz32(all);
    const size = this.#sizes[place];
    if (size === undefined || this.#readings - size.last > FRESH) {
      this.#sizes[place] = { typical: time, tasks: all, readings: 1, last: this.#readings };
      return;
    }
    size.last = this.#readings;
    const step = 1 / Math.min(++size.readings, STEPS);
    size.tasks += (all - size.tasks) * step;
    if (time > size.typical) size.typical = Math.min(time, size.typical * (1 + step));
    else size.typical = Math.max(time, size.typical / (1 + step));
  }

  /** How many more tasks a running thread does in `time` microseconds; 1 if one takes that long, or without readings. */
  run(time: number): number {
    const mean = this.#time / this.#tasks;
    // `mean` is NaN before the first reading.
    if (!(mean < LONG_US)) return 1;
    this.#more ??= Math.max(1, Math.min(mean, this.#difference()));
    return Math.max(1, Math.floor(time / this.#more));
  }

  /** How much longer a message takes for each task more; `Infinity` if all messages have about as many. */
  #difference(): number {
    let few: SizeClass | undefined;
    let many: SizeClass | undefined;
    for (const size of this.#sizes) {
      if (size === undefined || size.readings < FEWEST || this.#readings - size.last > FRESH) continue;
      few ??= size;
      many = size;
    }
    if (few === undefined || many === undefined || few === many) return Number.POSITIVE_INFINITY;
    return (many.typical - few.typical) / (many.tasks - few.tasks);
  }
}
