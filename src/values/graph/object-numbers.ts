/** Up to this many entries comparing each is cheaper than hashing. */
const LINEAR = 64;

/** Numbers objects and unique symbols in the order of their first occurrence. */
export class ObjectNumbers {
  readonly #first: unknown[] = Array.from({ length: LINEAR });
  #rest: Map<unknown, number> | undefined;
  #size = 0;

  /** The number of `value`, or -1. */
  find(value: unknown): number {
    const size = this.#size;
    if (size > LINEAR) return this.#rest?.get(value) ?? -1;
    const first = this.#first;
    for (let index = 0; index < size; index++) if (first[index] === value) return index;
    return -1;
  }

  /** Gives `value`, which must not be in the table, the next number. */
  add(value: unknown): void {
    const size = this.#size++;
    if (size < LINEAR) {
      this.#first[size] = value;
      return;
    }
    let rest = this.#rest;
    if (rest === undefined) {
      rest = new Map();
      this.#rest = rest;
      for (let index = 0; index < LINEAR; index++) rest.set(this.#first[index], index);
    }
    rest.set(value, size);
  }

  /** Everything that has a number, in the order of the numbers. */
  list(): unknown[] {
    return this.#size > LINEAR ? [...(this.#rest?.keys() ?? [])] : this.#first.slice(0, this.#size);
  }

  clear(): void {
    const used = Math.min(this.#size, LINEAR);
    for (let index = 0; index < used; index++) this.#first[index] = undefined;
    this.#rest = undefined;
    this.#size = 0;
  }
}
