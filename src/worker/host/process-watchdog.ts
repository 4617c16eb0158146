/** How often a process is asked for a sign of life, in milliseconds. */
const ASK_EVERY_MS = 5000;
/** How long it may give none, in milliseconds. */
const SILENCE_LIMIT_MS = 30_000;

/** Watches a process that has all the time it needs: one that gives no sign of life for long is frozen. */
export class ProcessWatchdog {
  readonly #timer: NodeJS.Timeout;
  #lastSign = performance.now();

  /** `ask` asks for a sign of life; `silent` is called when there was none for too long, until `close`. */
  constructor(ask: () => void, silent: () => void) {
    ask();
    this.#timer = setInterval(() => {
      if (performance.now() - this.#lastSign >= SILENCE_LIMIT_MS) silent();
      else ask();
    }, ASK_EVERY_MS);
  }

  /** The process gave a sign of life. */
  heard(): void {
    this.#lastSign = performance.now();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
