import { Timer } from "../../time/index.ts";

/** Bytes on their way out of a session above which chunked payloads and generators that run ahead wait. */
const OUTGOING_LIMIT_BYTES = 512 * 1024;

/** How unread output is watched. */
export interface UnreadOutputOptions {
  /** Bytes that may wait to be read before no more tasks are started. */
  readonly maxUnreadBytes: number;
  /** How long a caller with more than that may read nothing, in milliseconds. */
  readonly stallTimeout: number;
  /** Bytes that wait in the session and have not been handed over, without the largest payload. */
  readonly queuedBytes: () => number;
  /** There is room for more output again. */
  readonly relieved: () => void;
  /** The caller has read nothing for too long. */
  readonly stalled: () => void;
}

/**
 * The output that a caller has been sent and has not read. `flowing`: within the limit. `congested`: more than
 * `maxUnreadBytes` waits, none of its tasks are started, and it must read something within `stallTimeout`. The timer
 * does not keep the thread alive.
 */
export class UnreadOutput {
  readonly #options: UnreadOutputOptions;
  #state: "flowing" | "congested" | "closed" = "flowing";
  #outgoing = 0;
  #timer: Timer | undefined;
  #waiting: (() => void)[] = [];

  constructor(options: UnreadOutputOptions) {
    this.#options = options;
  }

  /** Bytes were handed over. Returns false if everything that can wait should wait. */
  sent(bytes: number): boolean {
    this.#outgoing += bytes;
    return this.#outgoing < OUTGOING_LIMIT_BYTES;
  }

  /** Bytes have gone out. Returns true if waiting output may go on. */
  took(bytes: number): boolean {
    this.#outgoing -= bytes;
    if (this.#state === "congested") {
      this.#watch();
      if (this.#bytes <= this.#options.maxUnreadBytes / 2) this.#relieve();
    }
    if (this.#outgoing >= OUTGOING_LIMIT_BYTES) return false;
    for (const go of this.#waiting.splice(0)) go();
    return true;
  }

  /** Whether none of the caller's tasks may be started now; `relieved` is called when they may again. */
  get isCongested(): boolean {
    if (this.#state === "flowing" && this.#bytes > this.#options.maxUnreadBytes) {
      this.#state = "congested";
      this.#watch();
    }
    return this.#state === "congested";
  }

  /** Resolves when a generator may run ahead again; undefined if it may now. */
  relief(): Promise<void> | undefined {
    if (this.#outgoing < OUTGOING_LIMIT_BYTES || this.#state === "closed") return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.#state = "closed";
    this.#timer?.clear();
    for (const go of this.#waiting.splice(0)) go();
  }

  get #bytes(): number {
    return this.#outgoing + this.#options.queuedBytes();
  }

  #relieve(): void {
    this.#state = "flowing";
    this.#timer?.clear();
    this.#options.relieved();
  }

  /** Gives the caller its whole time to read something, from now on. */
  #watch(): void {
    this.#timer?.clear();
    const { stallTimeout, stalled } = this.#options;
    this.#timer = new Timer(stallTimeout, stalled).unref();
  }
}
