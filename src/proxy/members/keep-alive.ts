/** Any long time, in milliseconds. */
const ALIVE_MS = 1_000_000_000;

/** Keeps the program from ending while it is needed. */
export class KeepAlive {
  #timer: NodeJS.Timeout | undefined;

  set isNeeded(isNeeded: boolean) {
    if (isNeeded) this.#timer ??= setInterval(() => undefined, ALIVE_MS);
    else if (this.#timer !== undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}
