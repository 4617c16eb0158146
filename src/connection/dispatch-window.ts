const LARGEST = 512;
/** How much work may wait at a task thread behind what it is doing, in microseconds. */
const TARGET_QUEUE_US = 6000;

/**
 * Bounds how many tasks are at a task thread and not yet started. What is beyond stays with the caller, where it can
 * still go to whoever is free. One task at first; then as many as the thread works off in a few milliseconds, by its
 * own account: round trips would measure the noise of the machine as well.
 */
export class DispatchWindow {
  #limit = 1;
  #unstarted = 0;

  /** The worker does not respond: it is sent nothing until it does. */
  isShut = false;

  /** Tasks that may be sent now. */
  get room(): number {
    return this.isShut ? 0 : this.#limit - this.#unstarted;
  }

  sent(count: number): void {
    this.#unstarted += count;
  }

  started(count: number): void {
    this.#unstarted -= count;
  }

  /** A task keeps the thread busy for this long. */
  pace(microseconds: number): void {
    this.#limit = Math.max(1, Math.min(LARGEST, Math.floor(TARGET_QUEUE_US / Math.max(1, microseconds))));
  }
}
