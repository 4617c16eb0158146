/** A call that can be told that nobody waits for it any more. */
export interface Cancellable {
  cancel(reason: unknown): void;
}

const PENDING = Symbol("pending");

/** Items whose calls were made together, and whose results have not all been yielded. */
export class ItemGroup {
  call: Cancellable | undefined;
  /** What each call returned or threw, until it is yielded. */
  readonly #outcomes: unknown[] = [];
  #failed: Set<number> | undefined;
  /** The items in the order in which their outcomes came, where outcomes are yielded in that order. */
  readonly #order: number[] | undefined;
  readonly #settled: (group: ItemGroup, count: number) => void;
  #handedOn = 0;
  #open = 0;

  /** `settled`: so many more of its calls have ended. */
  constructor(ordered: boolean, settled: (group: ItemGroup, count: number) => void) {
    this.#order = ordered ? undefined : [];
    this.#settled = settled;
  }

  /** Whether every call has ended. */
  get isSettled(): boolean {
    return this.#open === 0;
  }

  /** Whether every outcome has been yielded. */
  get isEmpty(): boolean {
    return this.#handedOn === this.#outcomes.length;
  }

  /** Whether there is an outcome to yield. */
  get isReady(): boolean {
    const index = this.#next;
    return index !== undefined && index < this.#outcomes.length && this.#outcomes[index] !== PENDING;
  }

  get #next(): number | undefined {
    return this.#order === undefined ? this.#handedOn : this.#order[this.#handedOn];
  }

  /** Adds an item. Returns its index. */
  add(): number {
    this.#open++;
    return this.#outcomes.push(PENDING) - 1;
  }

  /** The calls of items that follow each other have returned these values. */
  succeeded(first: number, values: readonly unknown[]): void {
    const outcomes = this.#outcomes;
    for (let index = 0; index < values.length; index++) outcomes[first + index] = values[index];
    this.#settle(first, values.length);
  }

  failed(index: number, failure: unknown): void {
    this.#failed ??= new Set();
    this.#failed.add(index);
    this.#outcomes[index] = failure;
    this.#settle(index, 1);
  }

  /** Whether the next outcome is a failure. */
  get isFailure(): boolean {
    return this.#failed !== undefined && this.#failed.has(this.#next ?? 0);
  }

  /** Takes out the next outcome. */
  take(): unknown {
    const index = this.#next ?? 0;
    const outcome = this.#outcomes[index];
    this.#outcomes[index] = undefined;
    this.#handedOn++;
    return outcome;
  }

  /** Takes out values that are ready, and adds them to `list`, until it has `longest`. Returns how many these are. */
  takeValues(list: unknown[], longest: number): number {
    const before = list.length;
    while (list.length < longest && this.isReady && !this.isFailure) list.push(this.take());
    return list.length - before;
  }

  #settle(first: number, count: number): void {
    for (let index = first; this.#order !== undefined && index < first + count; index++) this.#order.push(index);
    this.#open -= count;
    this.#settled(this, count);
  }
}
