import { Timer } from "../../time/index.ts";

/** The service of a worker, as its shutdown sees it. */
export interface Stoppable {
  /** Takes no new tasks; resolves when none is left. */
  drain(): Promise<void>;
  /** Cancels all running tasks. */
  cancel(): void;
  /** After `drain`: disposes of the resources of tasks and `setup`; resolves when nothing is left to do. */
  settle(): Promise<void>;
  /** Closes the service. */
  close(graceMs: number): Promise<void>;
}

/** How a shutdown proceeds. */
export interface ShutdownOptions {
  /**
   * How long cancelled tasks have to end, and then the timers and promises that they left, in milliseconds; `Infinity`
   * for no limit. One time for both together.
   */
  readonly cancelGrace: number;
  /** How long callers have to read what was sent to them, in milliseconds. */
  readonly flushGrace: number;
}

/** The states of a shutdown. */
export type ShutdownState = "running" | "waiting" | "cancelling" | "settling" | "closing";

/**
 * The end of a worker. It may be requested more than once, each time with more urgency. `running`: not requested.
 * `waiting`: no new tasks, running tasks may end. `cancelling`: they were cancelled and may clean up. `settling`: no
 * task runs, only disposers, and then timers and promises that tasks have left. `closing`: waits for nothing any more.
 */
export class Shutdown {
  /** Resolves when there is nothing left to wait for. */
  readonly settled: Promise<void>;
  /** Resolves when the service is closed. */
  readonly ended: Promise<void>;
  readonly #service: Stoppable;
  readonly #options: ShutdownOptions;
  #state: ShutdownState = "running";
  #timer: Timer | undefined;
  #cancelAt = Number.POSITIVE_INFINITY;
  #finish: () => void = () => undefined;

  constructor(service: Stoppable, options: ShutdownOptions) {
    this.#service = service;
    this.#options = options;
    this.settled = new Promise((resolve) => {
      this.#finish = resolve;
    });
    this.ended = this.settled.then(async () => {
      // A caller that requested the stop gets its answer first.
      await new Promise((resolve) => setImmediate(resolve));
      await service.close(options.flushGrace);
    });
  }

  get state(): ShutdownState {
    return this.#state;
  }

  /**
   * Gives running tasks `timeout` milliseconds from now, negative for no limit. Of several requests the shortest
   * counts. Resolves when there is nothing left to wait for.
   */
  request(timeout: number): Promise<void> {
    if (this.#state === "running") {
      this.#state = "waiting";
      void this.#service.drain().then(() => this.#settle());
    }
    if (this.#state === "waiting" && timeout >= 0) this.#cancelIn(timeout);
    return this.settled;
  }

  /** Handles a signal that means a stop with `timeout`. A signal to a stopping worker moves it to the next state. */
  signal(timeout: number): void {
    if (this.#state === "running") void this.request(timeout);
    else this.hurry();
  }

  /** Stops waiting in the current state, and goes to the next one. */
  hurry(): void {
    if (this.#state === "waiting") this.#cancel();
    else if (this.#state === "cancelling" || this.#state === "settling") this.#close();
  }

  #cancelIn(timeout: number): void {
    const at = performance.now() + timeout;
    if (at >= this.#cancelAt) return;
    this.#cancelAt = at;
    this.#timer?.clear();
    if (timeout === 0) this.#cancel();
    else this.#timer = new Timer(timeout, () => this.#cancel());
  }

  #cancel(): void {
    this.#state = "cancelling";
    this.#service.cancel();
    this.#closeAfterGrace();
  }

  #settle(): void {
    if (this.#state === "closing") return;
    if (this.#state === "waiting") this.#closeAfterGrace();
    this.#state = "settling";
    void this.#service.settle().then(() => this.#close());
  }

  #closeAfterGrace(): void {
    this.#timer?.clear();
    this.#timer = new Timer(this.#options.cancelGrace, () => this.#close());
  }

  #close(): void {
    this.#timer?.clear();
    this.#state = "closing";
    this.#finish();
  }
}
