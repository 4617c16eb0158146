import { Timer } from "../../../time/index.ts";
import type { RunningTask } from "../running-task.ts";

/**
 * Ends tasks whose time is over. Timers are set at the end of a turn of the event loop, for the tasks that have not ended by
 * then: a timer for each trivial task takes a fifth of the thread's time.
 */
export class TaskLimits {
  readonly #expired: (task: RunningTask, timeout: number) => void;
  #begun: { readonly task: RunningTask; readonly timeout: number; readonly at: number }[] = [];
  readonly #setTimers = (): void => {
    const begun = this.#begun;
    this.#begun = [];
    const now = performance.now();
    for (const { task, timeout, at } of begun) {
      if (task.state === "ended" || task.wireId < 0) continue;
      task.timer = new Timer(Math.max(0, timeout - (now - at)), () => this.#expired(task, timeout));
    }
  };

  /** `expired`: called for a task that has not ended after `timeout` milliseconds. */
  constructor(expired: (task: RunningTask, timeout: number) => void) {
    this.#expired = expired;
  }

  /** A task begins that may take so many milliseconds. */
  add(task: RunningTask, timeout: number): void {
    if (this.#begun.length === 0) setImmediate(this.#setTimers);
    this.#begun.push({ task, timeout, at: performance.now() });
  }
}
