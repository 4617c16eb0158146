import type { ConcurrencyPermits } from "../../shared/index.ts";
import type { ExecutorSession } from "../executor-session.ts";
import type { RunningTask } from "../running-task.ts";
import { FairQueue } from "./fair-queue.ts";
import { SLICE_MS } from "./later-turns.ts";

/** A task that waits for a permit. */
export interface ParkedTask {
  readonly task: RunningTask;
  /** Called when it gets its permit. */
  start(): void;
  /** Called when it will not be started. */
  drop(): void;
}

/** How the parking of a thread is set up. */
export interface TaskParkingOptions {
  readonly permits: ConcurrencyPermits;
  /** The number of the thread. */
  readonly lane: number;
  /** Has `look` called in every other thread with waiting tasks, and then here. */
  readonly announce: () => void;
}

/**
 * Tasks of a thread that wait for a permit. A permit that becomes free goes to the next task of the same thread, unless
 * tasks wait in other threads: then those are told first. A thread that a task blocks cannot keep the permit from the
 * others.
 */
export class TaskParking {
  readonly #options: TaskParkingOptions;
  /** Sessions take turns. */
  readonly #parked = new FairQueue<ExecutorSession, ParkedTask>();
  /** `announced`: `look` will be called. `overtaken`: another permit has become free meanwhile. */
  #state: "quiet" | "announced" | "overtaken" = "quiet";
  #isStarting = false;

  constructor(options: TaskParkingOptions) {
    this.#options = options;
  }

  /** Tasks that wait here. */
  get size(): number {
    return this.#parked.size;
  }

  /** Starts a task, or lets it wait. */
  take(parked: ParkedTask): void {
    const { permits, lane } = this.#options;
    if (this.#parked.size === 0 && !permits.doOthersWait(lane) && permits.tryTake(lane)) return parked.start();
    this.#parked.push(parked.task.session, parked);
    this.#show();
    // A permit may have become free before the other threads could see that a task waits here.
    if (permits.isAnyFree) this.#freed();
  }

  /** Takes out a task that will not be run. */
  remove(task: RunningTask): void {
    const parked = this.#parked.remove(task.session, (each) => each.task === task);
    if (parked === undefined) return;
    this.#show();
    parked.drop();
  }

  /** A task has ended, waits for a call that it made, or waits to be asked for more. */
  giveBack(): void {
    this.#options.permits.giveBack(this.#options.lane);
    this.#freed();
  }

  /** A task goes on after a call that it made, or cleans up: it does not wait for a permit again. */
  resume(): void {
    this.#options.permits.take(this.#options.lane);
  }

  /** Starts as many tasks as there are permits. */
  look(): void {
    const overtaken = this.#state === "overtaken";
    this.#state = "quiet";
    this.#startNext();
    if (overtaken) this.#freed();
  }

  /** Starts as many tasks as there are permits, for one time slice. Then new messages and other work get their turn. */
  #startNext(): void {
    // A task that is started may end at once, and give its permit back here.
    if (this.#isStarting) return;
    this.#isStarting = true;
    const { permits, lane } = this.#options;
    const end = performance.now() + SLICE_MS;
    while (this.#parked.size > 0 && permits.tryTake(lane)) {
      const next = this.#parked.shift();
      this.#show();
      next?.start();
      if (performance.now() <= end) continue;
      setImmediate(() => this.#startNext());
      break;
    }
    this.#isStarting = false;
  }

  #freed(): void {
    const { permits, lane, announce } = this.#options;
    if (!permits.doOthersWait(lane)) this.#startNext();
    else if (this.#state === "quiet") {
      this.#state = "announced";
      announce();
    } else this.#state = "overtaken";
  }

  #show(): void {
    this.#options.permits.setWaiting(this.#options.lane, this.#parked.size);
  }
}
