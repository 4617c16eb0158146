import type { Dependency } from "../functions/index.ts";
import type { WeakCollection } from "../values/index.ts";

/** A routine as workers get it, once for each session: its code with captured values, and its static facts. */
export interface Route {
  /** Names the route in every session of this process. */
  readonly number: number;
  readonly name: string;
  /** The encoded function. */
  readonly code: Uint8Array;
  readonly dependencies: readonly Dependency[];
  /** The weak collections that the function captured: their entries for objects of a call travel with the call. */
  readonly weak: readonly WeakCollection[];
  readonly streams: boolean;
  readonly method: boolean;
  /** The encoded serializer of the routine, if it has its own. */
  readonly serializer: Uint8Array | undefined;
  /** The function may change values that it captured: each task gets a fresh copy. */
  readonly fresh: boolean;
  /** The number of the route that this one replaces; 0 for none. */
  readonly replaces: number;
  /** The cost of its tasks; the same object for all routes of a routine. */
  readonly cost?: TaskCost;
  /** Names the function instead of `code`, such as `py:module:function`. */
  readonly target?: string;
  /** The language of the function that the target names; workers that run others do not get the call. */
  readonly language?: string;
  /** How its values are encoded, if not in the encoding of this runtime. */
  readonly encoding?: "json";
}

/** Factor by which the weight of earlier readings shrinks with each new one. */
const KEPT = 255 / 256;
/** A task of this many microseconds is worth a thread by itself. Waking a thread takes 50 to 500. */
const LONG_US = 1000;
/** Least variance of the numbers of tasks, relative to the square of their mean, for a line through the readings. */
const LEAST_SPREAD = 0.05;

/**
 * How long tasks of a routine keep a thread busy, in microseconds. Workers measure it for each message of results. For
 * trivial tasks, waking the thread takes most of the time: a message of 2 took 510 us on a busy machine, and one of 10
 * took 490. So the time for one more task is the slope of the line through the readings.
 */
export class TaskCost {
  #readings = 0;
  #tasks = 0;
  #time = 0;
  #tasksSquared = 0;
  #tasksByTime = 0;

  /** Adds a reading: a message of `tasks` tasks. */
  add(tasks: number, microseconds: number): void {
    const time = tasks * microseconds;
    this.#readings = this.#readings * KEPT + 1;
    this.#tasks = this.#tasks * KEPT + tasks;
    this.#time = this.#time * KEPT + time;
    this.#tasksSquared = this.#tasksSquared * KEPT + tasks * tasks;
    this.#tasksByTime = this.#tasksByTime * KEPT + tasks * time;
  }

  /** How many more tasks a running thread does in `time` microseconds; 1 if one takes that long, or without readings. */
  run(time: number): number {
    const mean = this.#time / this.#tasks;
    // `mean` is NaN before the first reading.
    if (!(mean < LONG_US)) return 1;
    const spread = this.#readings * this.#tasksSquared - this.#tasks ** 2;
    const slope =
      spread < LEAST_SPREAD * this.#tasks ** 2
        ? mean
        : (this.#readings * this.#tasksByTime - this.#tasks * this.#time) / spread;
    return Math.max(1, Math.floor(time / Math.max(1, Math.min(slope, mean))));
  }
}

const COUNTER = Symbol.for("wool-ts.routes.v1");

/** One for the process, also when two copies of the package are loaded: a pool of one carries the routines of both. */
function sharedCounter(): { last: number } {
  const holder = globalThis as { [COUNTER]?: { last: number } };
  holder[COUNTER] ??= { last: 0 };
  return holder[COUNTER];
}

const counter = sharedCounter();

/** A number for a new route. */
export function nextRouteNumber(): number {
  return ++counter.last;
}
