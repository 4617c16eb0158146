import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { ThreadTimes } from "./thread-times.ts";

/** How much a new reading counts against the ones before it. */
const WEIGHT = 0.5;
/**
 * For tasks that cost less than this, in microseconds, it does not count that others had the core: with 40 workers on two
 * cores none would be allowed more than a handful of trivial tasks. Longer ones go to whoever is done with them soonest.
 */
const SHORT_US = 1000;

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
  #active = 0;
  #taskUs = 0;

  /** Takes the tasks that ended since the last reading. Returns nothing if there are none. */
  read(ended: number): Pace | undefined {
    const now = performance.eventLoopUtilization();
    this.#active += (now.active - this.#last.active) * 1000;
    this.#last = now;
    if (ended === 0) return undefined;
    const active = this.#active;
    this.#active = 0;
    const costUs = this.#times.cost(active) / ended;
    const reading = costUs < SHORT_US ? costUs : active / ended;
    this.#taskUs = this.#taskUs === 0 ? reading : this.#taskUs + (reading - this.#taskUs) * WEIGHT;
    return { taskUs: Math.max(1, Math.round(this.#taskUs)), costUs: Math.max(1, Math.round(costUs)) };
  }
}
