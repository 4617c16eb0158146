import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { ThreadTimes } from "./thread-times.ts";

/** The weight of a new reading against the earlier ones. */
const WEIGHT = 0.5;
/**
 * For tasks that cost less than this, in microseconds, the time in which other threads had the core does not count:
 * with 40 workers on two cores, no worker would be allowed more than a handful of trivial tasks. Longer tasks should go
 * to the worker that finishes them first.
 */
const SHORT_US = 1000;

/**
 * Tasks that end between two readings, unless they take longer than `WORTH_READING_US` microseconds together. A reading
 * takes 7 us, a tenth of a trivial call with nothing else under way.
 */
const TASKS_PER_READING = 8;
const WORTH_READING_US = 200;
/** Readings before that rule applies: callers must soon know how long a task takes. */
const FIRST_READINGS = 16;

/** How long a task takes, in microseconds. */
export interface Pace {
  /** How long a task keeps its thread busy, smoothed. For short tasks, without the time in which others had the core. */
  readonly taskUs: number;
  /** The same for the last tasks only, without the time in which others had the core. */
  readonly costUs: number;
}

/** Measures how long a task keeps its thread busy: all work of the thread, divided by the number of tasks that ended. */
export class PaceMeter {
  readonly #times = new ThreadTimes();
  #last: EventLoopUtilization = performance.eventLoopUtilization();
  /** Microseconds in which the thread was active since the last reading, and tasks that ended in that time. */
  #active = 0;
  #ended = 0;
  #polled = 0;
  #taskUs = 0;
  #readings = 0;

  /** Whether others want the core that the thread runs on. */
  get isCrowded(): boolean {
    return this.#times.isCrowded;
  }

  /** The thread polled for messages for so many milliseconds. That time does not count for tasks. */
  polled(ms: number): void {
    this.#polled += ms * 1000;
  }

  /** Counts the tasks that ended since the last call. Returns undefined if there are none, or only a few short ones. */
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
