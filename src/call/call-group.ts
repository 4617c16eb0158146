/** Counts the calls of one pool or proxy that have not ended. */
export class CallGroup {
  #size = 0;
  #waiting: (() => void)[] = [];

  /** Calls that have not ended. */
  get size(): number {
    return this.#size;
  }

  /** One more call waits for a worker. */
  opened(): void {
    this.#size++;
  }

  /** A call has ended. */
  closed(): void {
    if (--this.#size === 0 && this.#waiting.length > 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves as soon as every call has ended. */
  async empty(): Promise<void> {
    if (this.#size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
