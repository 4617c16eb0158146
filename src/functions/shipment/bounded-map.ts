/** How much the entries of a map may weigh together. */
export interface WeightLimit<V> {
  readonly most: number;
  readonly weigh: (value: V) => number;
}

/**
 * A map that forgets its oldest entries when it holds more than `limit` entries, or entries that weigh too much. The
 * newest entry always stays.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number;
  readonly #weight: WeightLimit<V> | undefined;
  #weighs = 0;

  constructor(limit: number, weight?: WeightLimit<V>) {
    super();
    this.#limit = limit;
    this.#weight = weight;
  }

  override set(key: K, value: V): this {
    if (this.#weight !== undefined) {
      this.#forget(key);
      this.#weighs += this.#weight.weigh(value);
    }
    super.set(key, value);
    if (this.#isOverfull()) {
      for (const oldest of this.keys()) {
        if (oldest === key || !this.#isOverfull()) break;
        this.delete(oldest);
      }
    }
    return this;
  }

  /** The entry of a key. It becomes the newest one. */
  use(key: K): V | undefined {
    const value = this.get(key);
    // While the map is less than half full, the order does not matter.
    if (value === undefined || !this.#isOverfull(2)) return value;
    this.delete(key);
    this.set(key, value);
    return value;
  }

  override delete(key: K): boolean {
    if (this.#weight !== undefined) this.#forget(key);
    return super.delete(key);
  }

  override clear(): void {
    this.#weighs = 0;
    super.clear();
  }

  /** True when `times` its content would be too much. */
  #isOverfull(times = 1): boolean {
    if (this.size * times > this.#limit) return true;
    return this.#weight !== undefined && this.#weighs * times > this.#weight.most;
  }

  /** Removes the weight of an entry, if there is one. */
  #forget(key: K): void {
    const value = this.get(key);
    if (value !== undefined) this.#weighs -= this.#weight?.weigh(value) ?? 0;
  }
}
