/** How often to check whether a worker with calls has sent something, in milliseconds. */
const LOOK_MS = 500;
/** After this many checks without an answer the worker counts as not responding. */
const PATIENCE = 2;

/** A connection as its watchdog sees it. */
export interface WatchedConnection {
  /** How many messages came from the worker. */
  messages(): number;
  /** Asks the worker to answer, even while its tasks are busy. */
  ping(answered: () => void): void;
}

/**
 * Notices that a worker does not respond, because it is frozen or the network is silent. It asks a worker that has
 * calls and sends nothing. The gRPC thread of the worker answers even while a task blocks. Its timer runs only while
 * the worker has calls. Time in which this process itself was blocked does not count: it reads everything that has
 * arrived between two checks.
 *
 * `resting`: no calls. `watching`: it has calls. `asking`: it was asked. `silent`: it did not answer, and is asked again
 * until it does. `closed`.
 */
export class LinkWatchdog {
  readonly #connection: WatchedConnection;
  readonly #changed: (responds: boolean) => void;
  #state: "resting" | "watching" | "asking" | "silent" | "closed" = "resting";
  #timer: NodeJS.Timeout | undefined;
  #isBusy = false;
  #heard = 0;
  #looks = 0;
  #questions = 0;

  /** `changed` is called each time the worker stops responding or responds again. */
  constructor(connection: WatchedConnection, changed: (responds: boolean) => void) {
    this.#connection = connection;
    this.#changed = changed;
  }

  /** Whether the worker has calls. */
  set busy(isBusy: boolean) {
    this.#isBusy = isBusy;
    if (!isBusy || this.#state !== "resting") return;
    this.#state = "watching";
    this.#heard = this.#connection.messages();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#state = "closed";
  }

  #look(): void {
    const messages = this.#connection.messages();
    if (messages !== this.#heard) {
      this.#heard = messages;
      this.#answered();
      return;
    }
    if (this.#state === "watching") {
      if (this.#isBusy) this.#ask();
      else this.#rest();
    } else if (this.#state === "asking" && ++this.#looks > PATIENCE) {
      this.#state = "silent";
      this.#changed(false);
    } else if (this.#state === "silent" && ++this.#looks > PATIENCE) {
      this.#looks = 0;
      this.#question();
    }
  }

  #ask(): void {
    this.#state = "asking";
    this.#looks = 0;
    this.#question();
  }

  #question(): void {
    const question = ++this.#questions;
    this.#connection.ping(() => {
      if (question === this.#questions) this.#answered();
    });
  }

  #answered(): void {
    if (this.#state === "closed" || this.#state === "resting") return;
    const wasSilent = this.#state === "silent";
    this.#state = "watching";
    if (wasSilent) this.#changed(true);
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#state = "resting";
  }
}
