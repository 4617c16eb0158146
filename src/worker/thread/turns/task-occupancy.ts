import type { ThreadBoard } from "../../shared/index.ts";
import type { RunningTask } from "../running-task.ts";
import { LatestDeadline } from "./latest-deadline.ts";

/**
 * Shows on the board of a thread how many tasks it has, whose they are, until when they may run, and which one's code
 * it runs.
 */
export class TaskOccupancy {
  readonly #board: ThreadBoard;
  readonly #deadlines = new LatestDeadline<RunningTask>();
  /** Sessions that have live tasks. */
  readonly #sessions = new Set<number>();
  #live = 0;
  #unlimited = 0;

  constructor(board: ThreadBoard) {
    this.#board = board;
  }

  /** A task has been started. `timeout`: longest execution in milliseconds, 0 for no limit. */
  started(task: RunningTask, timeout: number): void {
    if (timeout > 0) {
      this.#deadlines.add(task, Date.now() + timeout);
      this.#show();
    } else if (++this.#unlimited === 1) this.#show();
    this.#board.live = ++this.#live;
    this.#board.soleTask = this.#live === 1 ? task.wireId : -1;
    if (task.session.live++ > 0) return;
    this.#sessions.add(task.session.number);
    this.#showSession();
  }

  ended(task: RunningTask): void {
    this.#board.live = --this.#live;
    this.#board.soleTask = -1;
    if (--task.session.live === 0) {
      this.#sessions.delete(task.session.number);
      this.#showSession();
    }
    if (this.#deadlines.size > 0 && this.#deadlines.delete(task)) this.#show();
    else if (--this.#unlimited === 0) this.#show();
  }

  /** The thread enters the code of a task. */
  enter(task: RunningTask): void {
    const deadline = this.#deadlines.size === 0 ? undefined : this.#deadlines.get(task);
    this.#board.occupy(task.session.number, task.wireId, deadline ?? Number.POSITIVE_INFINITY);
  }

  /** The thread returns from it. */
  leave(): void {
    this.#board.vacate();
  }

  #showSession(): void {
    const [session = 0] = this.#sessions;
    this.#board.soleSession = this.#sessions.size === 1 ? session : 0;
  }

  #show(): void {
    this.#board.lastDeadline = this.#unlimited > 0 ? Number.POSITIVE_INFINITY : this.#deadlines.latest;
  }
}
