import { FairRing, type TurnTaker } from "./fair-ring.ts";

/** A queue in which owners take turns: one with many entries does not delay the first one of another. */
export class FairQueue<O extends TurnTaker, T> {
  readonly #entries = new Map<O, T[]>();
  /** The owners with entries. */
  readonly #ring = new FairRing<O>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(owner: O, entry: T): void {
    const entries = this.#entries.get(owner);
    if (entries === undefined) {
      this.#entries.set(owner, [entry]);
      this.#ring.add(owner);
    } else entries.push(entry);
    this.#size++;
  }

  /** Takes out the entry whose turn it is. */
  shift(): T | undefined {
    const owner = this.#ring.current;
    const entries = owner === undefined ? undefined : this.#entries.get(owner);
    if (owner === undefined || entries === undefined) return undefined;
    const entry = entries.shift();
    if (entries.length === 0) this.#entries.delete(owner);
    this.#ring.pass(entries.length === 0);
    this.#size--;
    return entry;
  }

  /** Takes out the first entry of an owner that `is` accepts. */
  remove(owner: O, is: (entry: T) => boolean): T | undefined {
    const entries = this.#entries.get(owner);
    const index = entries?.findIndex(is) ?? -1;
    if (entries === undefined || index < 0) return undefined;
    const [entry] = entries.splice(index, 1);
    if (entries.length === 0) {
      this.#entries.delete(owner);
      this.#ring.remove(owner);
    }
    this.#size--;
    return entry;
  }
}
