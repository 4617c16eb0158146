import { type EventLoopUtilization, performance } from "node:perf_hooks";

/** How much a new reading counts against the ones before it. */
const WEIGHT = 0.5;

/**
 * Measures how long a task keeps its thread busy: all that the thread has done, wherever a task's code was run, over
 * the tasks that ended.
 */
export class PaceMeter {
  #last: EventLoopUtilization = performance.eventLoopUtilization();
  #active = 0;
  #pace = 0;

  /** Takes the tasks that ended since the last reading. Returns smoothed microseconds for each, or 0 without any. */
  read(ended: number): number {
    const now = performance.eventLoopUtilization();
    this.#active += now.active - this.#last.active;
    this.#last = now;
    if (ended === 0) return 0;
    const reading = (this.#active * 1000) / ended;
    this.#active = 0;
    this.#pace = this.#pace === 0 ? reading : this.#pace + (reading - this.#pace) * WEIGHT;
    return Math.max(1, Math.round(this.#pace));
  }
}
