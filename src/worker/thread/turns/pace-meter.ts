import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { ThreadTimes } from "./thread-times.ts";

/** How much a new reading counts against the ones before it. */
const WEIGHT = 0.5;
/**
 * For tasks that cost less than this, in microseconds, it does not count that others had the core: with 40 workers on two
 * cores none would be allowed more than a handful of trivial tasks. Longer ones go to whoever is done with them soonest.
 */
const SHORT_US = 1000;

/**
 * Tasks that end between two readings, unless they take longer than this many microseconds together: a reading takes 7 us,
 * which is a tenth of a trivial call that is alone.
 */
const TASKS_PER_READING = 8;
const WORTH_READING_US = 200;
/** Readings before that counts: callers have to know soon what a task takes. */
const FIRST_READINGS = 16;

/** What a task takes, in microseconds. */
export interface Pace {
  /** How long it keeps its thread busy, smoothed; without the time in which others had the core if it is short. */
  readonly taskUs: number;
  /** The same for the last ones, without the time in which others had the core. */
  readonly costUs: number;
}

/**
 * Measures how long a task keeps its thread busy: all that the thread has done, wherever a task's code was run, over
 * the tasks that ended.
 */
export class PaceMeter {
  readonly #times = new ThreadTimes();
  #last: EventLoopUtilization = performance.eventLoopUtilization();
  /** Microseconds in which the thread did something since the last reading, and tasks that ended in it. */
  #active = 0;
  #ended = 0;
  #polled = 0;
  #taskUs = 0;
  #readings = 0;

  /** The thread looked for messages for so many milliseconds, which is not what tasks take. */
  polled(ms: number): void {
    this.#polled += ms * 1000;
  }

  /** Takes the tasks that ended since the last time. Returns nothing if there are none, or few that are short. */
  read(ended: number): Pace | undefined {
    this.#ended += ended;
    if (this.#ended > 0 && this.#ended < TASKS_PER_READING && this.#readings >= FIRST_READINGS) {
      const { active } = performance.eventLoopUtilization(this.#last);
      if (active * 1000 + this.#active - this.#polled < WORTH_READING_US) return undefined;
    }
    const now = performance.eventLoopUtilization();
    this.#active += (now.active - this.#last.active) * 1000;
    this.#last = now;
    if (this.#ended === 0) return undefined;
    const [active, tasks, polled] = [this.#active, this.#ended, this.#polled];
    this.#active = 0;
    this.#ended = 0;
    this.#polled = 0;
    this.#readings++;
    const costUs = Math.max(0, this.#times.cost(active) - polled) / tasks;
    const reading = costUs < SHORT_US ? costUs : Math.max(0, active - polled) / tasks;
    this.#taskUs = this.#taskUs === 0 ? reading : this.#taskUs + (reading - this.#taskUs) * WEIGHT;
    return { taskUs: Math.max(1, Math.round(this.#taskUs)), costUs: Math.max(1, Math.round(costUs)) };
  }
}
