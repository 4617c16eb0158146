import { emitTaskEvent, type TaskEvent, type TaskEventType, type TaskOutcome } from "./events.ts";

/**
 * Reports the stages of one task to observers of tasks: each stage that applies, in order. Times are measured in this
 * process, from the moment that it knew of the task.
 */
export class TaskStages {
  #task: TaskEvent["task"];
  readonly #begun = performance.now();
  #worker: string | undefined;
  /** When its code was first entered, and when last. */
  #first: number | undefined;
  #entered = 0;
  #ran = 0;
  #isInside = false;
  #isOver = false;

  /** `task`: its tag does not name a worker yet. */
  constructor(task: TaskEvent["task"]) {
    this.#task = Object.freeze(task);
  }

  /** When its code was first entered, on the clock of `performance.now`. */
  get startedAt(): number | undefined {
    return this.#first;
  }

  /** The call was made here. */
  created(): void {
    this.#emit("task-created");
  }

  /** The worker of this uid has it. */
  scheduled(worker: string): void {
    if (this.#worker === worker || this.#isOver) return;
    const isMoved = this.#worker !== undefined;
    this.#worker = worker;
    this.#task = Object.freeze({ ...this.#task, tag: `${this.#task.name}@${worker}` });
    // A task that is tried again on another worker is the same task.
    if (!isMoved) this.#emit("task-scheduled");
  }

  /** Its code is entered. */
  enter(): void {
    if (this.#isInside || this.#isOver) return;
    this.#isInside = true;
    this.#entered = performance.now();
    this.#first ??= this.#entered;
    this.#emit("task-started");
  }

  /** Its code is left. */
  leave(now = performance.now()): void {
    if (!this.#isInside) return;
    this.#isInside = false;
    this.#ran += now - this.#entered;
    this.#emit("task-stopped");
  }

  /**
   * The task is over. `error`: its error, or the reason why it did not end by itself. No more stages are reported after
   * this.
   */
  completed(outcome: TaskOutcome, error?: unknown): void {
    if (this.#isOver) return;
    const ended = performance.now();
    this.leave(ended);
    this.#isOver = true;
    this.#emit("task-completed", {
      outcome,
      ...(outcome === "returned" ? {} : { error }),
      queued: (this.#first ?? ended) - this.#begun,
      ran: this.#ran,
      total: ended - this.#begun,
    });
  }

  #emit(type: TaskEventType, more: Partial<TaskEvent> = {}): void {
    const worker = this.#worker;
    emitTaskEvent({ type, task: this.#task, ...(worker === undefined ? {} : { worker }), time: Date.now(), ...more });
  }
}
