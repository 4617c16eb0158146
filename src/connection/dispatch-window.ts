const LARGEST = 512;
/** How much work may wait at a task thread behind what it is doing, in microseconds. */
const TARGET_QUEUE_US = 6000;

/**
 * Bounds how many tasks are at a task thread and not yet started. Other tasks stay with the caller, who can still give
 * them to another worker. One task at first; then as many as the thread finishes in a few milliseconds. The thread
 * reports how long tasks take: round trips would measure the noise of the machine, too.
 */
export class DispatchWindow {
  #limit = 1;
  #unstarted = 0;

  /** The worker does not respond, and gets nothing until it does. */
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
