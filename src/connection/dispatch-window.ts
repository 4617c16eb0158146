const LARGEST = 512;
/** How much of large arguments may wait in the memory of a worker before it gets no more tasks. */
const MOST_BYTES = 32 * 1024 * 1024;

/** A task whose arguments may count in the window. */
interface WeighedTask {
  /** Bytes of its arguments that are in the memory of the worker; 0 once it has been started. */
  weight: number;
}
/**
 * How much work may wait at a task thread behind what it is doing, in microseconds. 4,000 calls of 20 us, with one in 300
 * of 60 ms among them, took two workers 665 ms, against 697 with 1 ms and 735 with 40 ms of work. 1000 trivial calls under
 * way are as fast with each of these.
 */
const TARGET_QUEUE_US = 6000;

/**
 * Bounds how many tasks are at a task thread and not yet started. Other tasks stay with the caller, who can still give
 * them to another worker. One task at first; then as many as the thread finishes in a few milliseconds. The thread
 * reports how long tasks take: round trips would also measure the noise of the machine.
 */
export class DispatchWindow {
  #limit = 1;
  #unstarted = 0;
  #bytes = 0;

  /** Set while the worker does not respond: it gets no tasks. */
  isShut = false;

  /** Tasks that may be sent now. */
  get room(): number {
    return this.isShut || this.#bytes >= MOST_BYTES ? 0 : this.#limit - this.#unstarted;
  }

  /** A task was sent, and its arguments take memory until it is started. */
  load(task: WeighedTask, bytes: number): void {
    task.weight = bytes;
    this.#bytes += bytes;
  }

  /** The task has been started, or never will be. */
  unload(task: WeighedTask): void {
    this.#bytes -= task.weight;
    task.weight = 0;
  }

  sent(count: number): void {
    this.#unstarted += count;
  }

  started(count: number): void {
    this.#unstarted -= count;
  }

  /** The average task keeps the thread busy for this long. */
  pace(microseconds: number): void {
    this.#limit = Math.max(1, Math.min(LARGEST, Math.floor(TARGET_QUEUE_US / Math.max(1, microseconds))));
  }
}
