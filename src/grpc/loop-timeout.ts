import { Timer } from "../time/index.ts";

const PARTS = 4;

/**
 * A timeout for an answer from a peer, counted in turns of the event loop. A time in which this process was blocked
 * counts for at most a quarter of it, so that an answer that waits in the socket is read before the timeout expires. It
 * does not keep the process alive.
 */
export class LoopTimeout {
  readonly #onExpired: () => void;
  readonly #partMs: number;
  #partsLeft = PARTS;
  #timer: Timer | undefined;
  #immediate: NodeJS.Immediate | undefined;

  /** Calls `onExpired` after `milliseconds`, unless cleared before. */
  constructor(onExpired: () => void, milliseconds: number) {
    this.#onExpired = onExpired;
    this.#partMs = milliseconds / PARTS;
    this.#wait();
  }

  /** Ends the timeout. It does not expire any more. */
  clear(): void {
    this.#timer?.clear();
    clearImmediate(this.#immediate);
  }

  #wait(): void {
    this.#timer = new Timer(this.#partMs, () => this.#elapsed()).unref();
  }

  #elapsed(): void {
    this.#partsLeft--;
    // Timers run before the sockets are read, immediates after.
    if (this.#partsLeft > 0) this.#wait();
    else this.#immediate = setImmediate(this.#onExpired);
  }
}
