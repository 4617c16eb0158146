import type { Http2Session } from "node:http2";
import { Timer } from "../time/index.ts";
import { LoopTimeout } from "./loop-timeout.ts";

/** When to check that a silent peer still responds. */
export interface KeepaliveOptions {
  /** Milliseconds between two HTTP/2 PINGs; `Infinity` sends none. */
  readonly interval: number;
  /** Milliseconds that the answer may take. */
  readonly timeout: number;
}

/** Sends HTTP/2 PINGs on a session and reports once that an answer is missing. Its timers do not keep the process alive. */
export class Keepalive {
  readonly #session: Http2Session;
  readonly #options: KeepaliveOptions;
  readonly #onDead: () => void;
  #pause: Timer | undefined;
  #patience: LoopTimeout | undefined;
  #state: "waiting" | "asking" | "stopped" = "waiting";

  constructor(session: Http2Session, options: KeepaliveOptions, onDead: () => void) {
    this.#session = session;
    this.#options = options;
    this.#onDead = onDead;
    if (options.interval === Number.POSITIVE_INFINITY) this.#state = "stopped";
    else this.#wait();
  }

  /** Sends no more PINGs and reports nothing. */
  stop(): void {
    this.#state = "stopped";
    this.#pause?.clear();
    this.#patience?.clear();
  }

  #wait(): void {
    this.#state = "waiting";
    this.#pause = new Timer(this.#options.interval, () => this.#ask()).unref();
  }

  #ask(): void {
    if (this.#session.destroyed) {
      this.stop();
      return;
    }
    this.#state = "asking";
    this.#patience = new LoopTimeout(() => this.#expire(), this.#options.timeout);
    this.#session.ping((error) => {
      if (this.#state !== "asking" || error !== null) return;
      this.#patience?.clear();
      this.#wait();
    });
  }

  #expire(): void {
    this.stop();
    this.#onDead();
  }
}
