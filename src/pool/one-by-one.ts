/**
 * Hands out one by one what a generator yields in lists. Requests are answered in the order in which they were made, as those
 * of a generator are. An item of a list that has come takes 0.09 us, a `yield` of its own 0.16.
 */
export class OneByOne<T> implements AsyncIterableIterator<T, void, void> {
  readonly #lists: AsyncGenerator<readonly T[], void, void>;
  readonly #isOver: () => boolean;
  #list: readonly T[] = [];
  #at = 0;
  /** Requests that wait, and the last of them. */
  #waiting = 0;
  #last: Promise<unknown> | undefined;

  /** `isOver`: whether the rest of a list is not to be handed out any more. */
  constructor(lists: AsyncGenerator<readonly T[], void, void>, isOver: () => boolean) {
    this.#lists = lists;
    this.#isOver = isOver;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, void>> {
    if (this.#waiting > 0 || this.#at >= this.#list.length || this.#isOver()) {
      return this.#inTurn(() => this.#fetch());
    }
    return Promise.resolve({ done: false, value: this.#list[this.#at++] as T });
  }

  return(): Promise<IteratorResult<T, void>> {
    return this.#inTurn(async () => {
      this.#list = [];
      await this.#lists.return();
      return { done: true, value: undefined };
    });
  }

  async #fetch(): Promise<IteratorResult<T, void>> {
    if (this.#at >= this.#list.length || this.#isOver()) {
      const { done, value } = await this.#lists.next();
      this.#list = done === true ? [] : value;
      this.#at = 0;
      if (done === true) return { done, value: undefined };
    }
    return { done: false, value: this.#list[this.#at++] as T };
  }

  #inTurn<R>(answer: () => Promise<R>): Promise<R> {
    const answered = this.#answerAfter(this.#waiting++ > 0 ? this.#last : undefined, answer);
    this.#last = answered;
    return answered;
  }

  /**
   * Answers a request after the one before it, whatever became of that. Where there is none, nobody but the caller waits for the
   * promise: otherwise the engine would not know who does, and the stacks of errors would end here.
   */
  async #answerAfter<R>(before: Promise<unknown> | undefined, answer: () => Promise<R>): Promise<R> {
    try {
      if (before !== undefined) await before.catch(() => undefined);
      return await answer();
    } finally {
      this.#waiting--;
    }
  }
}
