/** How long it may take to learn whether a worker that cannot be reached will be back, in milliseconds. */
const NEWS_MS = 2000;

/** Workers that are away and will be back, or are likely to. */
export class ReturningWorkers {
  readonly #returns: (uid: string) => boolean;
  readonly #gaveUp: () => void;
  /** By uid; with a timer for those that are only likely to be back. */
  readonly #away = new Map<string, NodeJS.Timeout | undefined>();

  /** `returns`: whether a worker comes back by itself. `gaveUp`: called when it stops waiting for a worker. */
  constructor(returns: (uid: string) => boolean, gaveUp: () => void) {
    this.#returns = returns;
    this.#gaveUp = gaveUp;
  }

  /** Whether any worker is waited for. */
  get any(): boolean {
    return this.#away.size > 0;
  }

  /** The worker is away and will be back. */
  expect(uid: string): void {
    clearTimeout(this.#away.get(uid));
    this.#away.set(uid, undefined);
  }

  /** The connection to a worker is lost. The pool that restarts the worker may not know yet that it is gone. */
  suspect(uid: string): void {
    if (this.#away.has(uid) || !this.#returns(uid)) return;
    this.#away.set(uid, setTimeout(() => this.giveUp(uid), NEWS_MS).unref());
  }

  /** The worker is back. Returns whether it was waited for. */
  arrived(uid: string): boolean {
    clearTimeout(this.#away.get(uid));
    return this.#away.delete(uid);
  }

  /** The worker will not be back. */
  giveUp(uid: string): void {
    this.arrived(uid);
    this.#gaveUp();
  }

  /** Waits for no worker any more. */
  clear(): void {
    for (const uid of Array.from(this.#away.keys())) this.arrived(uid);
  }
}
