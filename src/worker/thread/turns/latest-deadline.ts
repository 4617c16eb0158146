/** Most stale entries before they are removed. */
const MOST_GONE = 64;

interface Entry<T> {
  readonly thing: T;
  readonly time: number;
}

/** The latest deadline of many things that come and go. Fast even for very many. */
export class LatestDeadline<T> {
  readonly #times = new Map<T, number>();
  /** A heap with the latest on top. It may hold stale entries, but not on top. */
  #heap: Entry<T>[] = [];

  get size(): number {
    return this.#times.size;
  }

  /** 0 when there is none. */
  get latest(): number {
    return this.#heap[0]?.time ?? 0;
  }

  get(thing: T): number | undefined {
    return this.#times.get(thing);
  }

  /** The thing must not have a deadline yet. */
  add(thing: T, time: number): void {
    this.#times.set(thing, time);
    this.#push({ thing, time });
  }

  /** Returns false when it has none. */
  delete(thing: T): boolean {
    if (!this.#times.delete(thing)) return false;
    if (this.#heap.length > 2 * this.#times.size + MOST_GONE) {
      this.#heap = [];
      for (const [left, time] of this.#times) this.#push({ thing: left, time });
    }
    for (let top = this.#heap[0]; top !== undefined && !this.#times.has(top.thing); top = this.#heap[0]) this.#pop();
    return true;
  }

  #push(entry: Entry<T>): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || parent.time >= entry.time) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      const [left, right] = [heap[below], heap[below + 1]];
      if (left === undefined) break;
      const larger = right !== undefined && right.time > left.time ? right : left;
      if (larger === right) below++;
      if (larger.time <= last.time) break;
      heap[at] = larger;
      at = below;
    }
    heap[at] = last;
  }
}
