import type { TaskSlots } from "../shared/index.ts";
import type { RunningTask } from "./running-task.ts";

/** Something that waits for a slot. */
export interface ParkedTask {
  readonly task: RunningTask;
  /** Called when it has got its slot. */
  start(): void;
  /** Called when it will not be started. */
  drop(): void;
}

/** What the tasks that wait in a thread need of their surroundings. */
export interface TaskParkingOptions {
  readonly slots: TaskSlots;
  /** The number of the thread. */
  readonly lane: number;
  /** Has `look` called in every other thread in which tasks wait, and then here. */
  readonly announce: () => void;
}

/**
 * Where tasks wait in a thread when no more may run at once in the worker. A slot that becomes free goes to the next task
 * of the same thread, unless others wait elsewhere: then those are told first. One that does not listen, because a task
 * blocks its thread, cannot keep the slot from the rest.
 */
export class TaskParking {
  readonly #options: TaskParkingOptions;
  readonly #parked: ParkedTask[] = [];
  /** `announced`: `look` will be called. `overtaken`: another slot became free since. */
  #state: "quiet" | "announced" | "overtaken" = "quiet";

  constructor(options: TaskParkingOptions) {
    this.#options = options;
  }

  /** Tasks that wait here. */
  get size(): number {
    return this.#parked.length;
  }

  /** Starts a task, or lets it wait. */
  take(parked: ParkedTask): void {
    const { slots, lane } = this.#options;
    if (this.#parked.length === 0 && !slots.doOthersWait(lane) && slots.tryTake(lane)) return parked.start();
    this.#parked.push(parked);
    this.#show();
    // One may have become free before the others could see that a task waits here.
    if (slots.isAnyFree) this.#freed();
  }

  /** Takes out a task that will not be run. */
  remove(task: RunningTask): void {
    const index = this.#parked.findIndex((parked) => parked.task === task);
    if (index < 0) return;
    const [parked] = this.#parked.splice(index, 1);
    this.#show();
    parked?.drop();
  }

  /** A task has ended, or waits: for a call of its own, or for its caller to ask for more. */
  giveBack(): void {
    this.#options.slots.giveBack(this.#options.lane);
    this.#freed();
  }

  /** A task goes on after a call of its own, or cleans up: it does not wait again. */
  resume(): void {
    this.#options.slots.take(this.#options.lane);
  }

  /** Starts what there are slots for. */
  look(): void {
    const overtaken = this.#state === "overtaken";
    this.#state = "quiet";
    this.#startNext();
    if (overtaken) this.#freed();
  }

  #startNext(): void {
    const { slots, lane } = this.#options;
    while (this.#parked.length > 0 && slots.tryTake(lane)) {
      const next = this.#parked.shift();
      this.#show();
      next?.start();
    }
  }

  #freed(): void {
    const { slots, lane, announce } = this.#options;
    if (!slots.doOthersWait(lane)) this.#startNext();
    else if (this.#state === "quiet") {
      this.#state = "announced";
      announce();
    } else this.#state = "overtaken";
  }

  #show(): void {
    this.#options.slots.setWaiting(this.#options.lane, this.#parked.length);
  }
}
