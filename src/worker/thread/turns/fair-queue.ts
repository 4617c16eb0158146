/** A queue in which owners take turns: one with many entries does not delay the first one of another. */
export class FairQueue<O, T> {
  /** In the order of the turns; an owner without entries is not here. */
  readonly #queues = new Map<O, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(owner: O, entry: T): void {
    const queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, [entry]);
    else queue.push(entry);
    this.#size++;
  }

  /** Takes out the entry whose turn it is. */
  shift(): T | undefined {
    for (const [owner, queue] of this.#queues) {
      const entry = queue.shift();
      this.#queues.delete(owner);
      // A map keeps the order in which keys were added: its owner is last now.
      if (queue.length > 0) this.#queues.set(owner, queue);
      this.#size--;
      return entry;
    }
    return undefined;
  }

  /** Takes out the first entry of an owner for which `is` holds. */
  remove(owner: O, is: (entry: T) => boolean): T | undefined {
    const queue = this.#queues.get(owner);
    const index = queue?.findIndex(is) ?? -1;
    if (queue === undefined || index < 0) return undefined;
    const [entry] = queue.splice(index, 1);
    if (queue.length === 0) this.#queues.delete(owner);
    this.#size--;
    return entry;
  }
}
