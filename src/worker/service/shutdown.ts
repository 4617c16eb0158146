import { Timer } from "../../time/index.ts";

/** The service of a worker, as its shutdown sees it. */
export interface Stoppable {
  /** Takes no new tasks; resolves when none is left. */
  drain(): Promise<void>;
  /** Cancels all tasks that run. */
  cancel(): void;
  /** After `drain`: disposes of what tasks and `setup` have left; resolves when nothing is left to do. */
  settle(): Promise<void>;
  /** Ends everything. */
  close(graceMs: number): Promise<void>;
}

/** How a shutdown proceeds. */
export interface ShutdownOptions {
  /**
   * How long cancelled tasks have to end, and after the last task what is left of tasks, in milliseconds; `Infinity` for as
   * long as they need. Once for both: tasks that were cancelled share it with what they leave.
   */
  readonly cancelGrace: number;
  /** How long callers have to take what was sent to them, in milliseconds. */
  readonly flushGrace: number;
}

/** Where the end of a worker stands. */
export type ShutdownState = "running" | "waiting" | "cancelling" | "settling" | "closing";

/**
 * The end of a worker, which may be asked for more than once, each time more urgently.
 * `running`; `waiting`: no new tasks, those that run may end; `cancelling`: they were cancelled and may clean up;
 * `settling`: none runs, disposers do, and then timers and promises that tasks have left; `closing`: nothing is waited for
 * any more.
 */
export class Shutdown {
  /** Resolves when nothing is left that is waited for. */
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
      // Whoever asked over the connection gets an answer first.
      await new Promise((resolve) => setImmediate(resolve));
      await service.close(options.flushGrace);
    });
  }

  get state(): ShutdownState {
    return this.#state;
  }

  /**
   * Gives running tasks `timeout` milliseconds from now, negative for all they need. Of several requests the shortest
   * counts. Resolves when nothing is left that is waited for.
   */
  request(timeout: number): Promise<void> {
    if (this.#state === "running") {
      this.#state = "waiting";
      void this.#service.drain().then(() => this.#settle());
    }
    if (this.#state === "waiting" && timeout >= 0) this.#cancelIn(timeout);
    return this.settled;
  }

  /** Takes a signal that means a stop with `timeout`. A signal to a stopping worker moves it to the next state. */
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
