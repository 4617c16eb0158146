import type { TaskCost } from "../routine/index.ts";

/** Entries for tasks that nobody measures: a worker need not report its pace. */
const MOST_ENTRIES = 4096;

/** The tasks of a session that ended since its worker last reported its pace. */
export class EndedTasks {
  /**
   * The estimates of their routines, and how many tasks each stands for, in the order in which they ended. A map by routine that
   * grows and is cleared with each message cost 0.2 us for each of 100 calls of different routines.
   */
  readonly #costs: TaskCost[] = [];
  readonly #counts: number[] = [];

  /** So many tasks of a routine have ended. */
  add(cost: TaskCost, count: number): void {
    const last = this.#costs.length - 1;
    if (last >= 0 && this.#costs[last] === cost) this.#counts[last] = (this.#counts[last] as number) + count;
    else {
      if (last >= MOST_ENTRIES) this.#clear();
      this.#costs.push(cost);
      this.#counts.push(count);
    }
  }

  /** Each of them kept the thread busy for so many microseconds. That counts for all of their routines. */
  measured(microseconds: number): void {
    let all = 0;
    for (const count of this.#counts) all += count;
    for (let i = 0; i < this.#costs.length; i++) (this.#costs[i] as TaskCost).count(this.#counts[i] as number);
    for (const cost of this.#costs) cost.measured(microseconds, all);
    this.#clear();
  }

  #clear(): void {
    this.#costs.length = 0;
    this.#counts.length = 0;
  }
}
