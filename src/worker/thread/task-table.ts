import type { RunningTask } from "./running-task.ts";

/**
 * Ids up to this are kept in an array. Callers count from 0 and reuse ids, so most ids are small. With 1000 trivial calls under
 * way an array makes 1.14x as many calls as a map.
 */
const DENSE_IDS = 1 << 16;

/** The tasks of a session that have not ended, by their id. */
export class TaskTable {
  readonly #dense: (RunningTask | undefined)[] = [];
  readonly #sparse = new Map<number, RunningTask>();

  #size = 0;

  /** How many there are. */
  get size(): number {
    return this.#size;
  }

  get(id: number): RunningTask | undefined {
    return id < DENSE_IDS ? this.#dense[id] : this.#sparse.get(id);
  }

  /** The id must be free. */
  set(id: number, task: RunningTask): void {
    this.#size++;
    if (id < DENSE_IDS) {
      // An array with holes stays slow, so there must be none.
      while (this.#dense.length < id) this.#dense.push(undefined);
      this.#dense[id] = task;
    } else this.#sparse.set(id, task);
  }

  delete(id: number): void {
    if (this.get(id) === undefined) return;
    this.#size--;
    if (id < DENSE_IDS) this.#dense[id] = undefined;
    else this.#sparse.delete(id);
  }

  /** Whether `test` is true of all tasks. */
  every(test: (task: RunningTask) => boolean): boolean {
    for (const task of this.#dense) if (task !== undefined && !test(task)) return false;
    for (const task of this.#sparse.values()) if (!test(task)) return false;
    return true;
  }

  /** All tasks at this moment. */
  list(): RunningTask[] {
    const dense = this.#dense.filter((task) => task !== undefined);
    return [...dense, ...this.#sparse.values()];
  }
}
