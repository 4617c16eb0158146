import { openSync, readSync } from "node:fs";

/**
 * The file in which Linux reports about a thread: nanoseconds on a core, nanoseconds of waiting for a core, and how
 * often it ran.
 */
const TIMES = "/proc/thread-self/schedstat";
const SPACE = 0x20;
/** Factor by which the weight of earlier looks shrinks with each new one. */
const KEPT = 15 / 16;
/**
 * A thread that waits longer than this for a core, for each second on one, shares it with others. On two cores it is 0.1 to
 * 0.2 with 100 trivial calls in flight, which one worker and the caller do in turns, and 0.4 to 0.5 with 1000.
 */
const CROWDED = 0.3;

/**
 * How long this thread was on a core, and how long it waited for one. With 40 workers on two cores a trivial task takes
 * hundreds of microseconds by the clock, and three by this measure. A look takes 3 us, and there is one for each
 * reading of `PaceMeter`.
 */
export class ThreadTimes {
  readonly #descriptor = open();
  readonly #text = Buffer.alloc(96);
  #onCore = 0;
  #waited = 0;
  /** Times of the last looks. */
  #lately = { onCore: 0, waited: 0 };

  constructor() {
    this.cost(0);
    // Starting up says nothing about later.
    this.#lately = { onCore: 0, waited: 0 };
  }

  /** Whether others want the core that the thread runs on. False if the system does not report that. */
  get isCrowded(): boolean {
    return this.#lately.waited > this.#lately.onCore * CROWDED;
  }

  /**
   * The part of the `active` microseconds since the last look in which the thread did not wait for a core. All of them
   * if the system does not report that.
   */
  cost(active: number): number {
    if (this.#descriptor === undefined) return active;
    const text = this.#text;
    const length = readSync(this.#descriptor, text, 0, text.length, 0);
    const space = text.indexOf(SPACE);
    const onCore = parse(text, 0, space) - this.#onCore;
    const waited = parse(text, space + 1, Math.min(length, text.indexOf(SPACE, space + 1))) - this.#waited;
    this.#onCore += onCore;
    this.#waited += waited;
    const lately = this.#lately;
    lately.onCore = lately.onCore * KEPT + onCore;
    lately.waited = lately.waited * KEPT + waited;
    // A thread that blocks costs the time that it blocks. Waiting for a core after waking up is not active time.
    return Math.max(onCore / 1000, active - waited / 1000, 0);
  }
}

function parse(text: Buffer, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) value = value * 10 + (text[i] ?? 0) - 0x30;
  return value;
}

function open(): number | undefined {
  try {
    return openSync(TIMES, "r");
  } catch {
    return undefined;
  }
}
