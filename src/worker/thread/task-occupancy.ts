import type { ThreadBoard } from "../shared/index.ts";
import type { RunningTask } from "./running-task.ts";

/** Shows on the board of a thread how many tasks it has, until when they may run, and which of them it is in. */
export class TaskOccupancy {
  readonly #board: ThreadBoard;
  readonly #deadlines = new Map<RunningTask, number>();
  #live = 0;
  #unlimited = 0;

  constructor(board: ThreadBoard) {
    this.#board = board;
  }

  /** A task has been started. `timeout`: longest execution in milliseconds, 0 for no limit. */
  started(task: RunningTask, timeout: number): void {
    if (timeout > 0) {
      this.#deadlines.set(task, Date.now() + timeout);
      this.#show();
    } else if (++this.#unlimited === 1) this.#show();
    this.#board.live = ++this.#live;
  }

  ended(task: RunningTask): void {
    this.#board.live = --this.#live;
    if (this.#deadlines.size > 0 && this.#deadlines.delete(task)) this.#show();
    else if (--this.#unlimited === 0) this.#show();
  }

  /** The thread goes into the code of a task. */
  enter(task: RunningTask): void {
    const deadline = this.#deadlines.size === 0 ? undefined : this.#deadlines.get(task);
    this.#board.occupy(task.session.number, task.wireId, deadline ?? Number.POSITIVE_INFINITY);
  }

  /** And comes back from it. */
  leave(): void {
    this.#board.vacate();
  }

  #show(): void {
    this.#board.lastDeadline =
      this.#unlimited > 0 ? Number.POSITIVE_INFINITY : Math.max(0, ...this.#deadlines.values());
  }
}
