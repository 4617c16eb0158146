/** Up to this many entries comparing each is cheaper than hashing. */
const LINEAR = 64;

/** Numbers objects and unique symbols in the order of their first occurrence. */
export class ObjectNumbers {
  readonly #first: unknown[] = Array.from({ length: LINEAR });
  /** Undefined as long as comparing is enough. */
  #rest: Map<unknown, number> | undefined;
  #size = 0;
  /** Tables whose numbers come after those that had been given when they were embedded. */
  #embedded: { readonly table: ReadonlyMap<unknown, number>; readonly base: number }[] | undefined;

  /** The number of `value`, or -1. */
  find(value: unknown): number {
    const rest = this.#rest;
    if (rest !== undefined) return rest.get(value) ?? (this.#embedded === undefined ? -1 : this.#findEmbedded(value));
    const size = this.#size;
    const first = this.#first;
    for (let index = 0; index < size; index++) if (first[index] === value) return index;
    return -1;
  }

  /** Gives `value`, which must not be in the table, the next number. */
  add(value: unknown): void {
    const size = this.#size++;
    if (this.#rest === undefined) {
      if (size < LINEAR) {
        this.#first[size] = value;
        return;
      }
      this.#hash(size);
    }
    this.#rest?.set(value, size);
  }

  /** Gives everything in another table the next numbers, in its order. False if something has a number already. */
  embed(table: ReadonlyMap<unknown, number>): boolean {
    if (this.#overlaps(table)) return false;
    if (this.#rest === undefined) this.#hash(this.#size);
    this.#embedded ??= [];
    this.#embedded.push({ table, base: this.#size });
    this.#size += table.size;
    return true;
  }

  /** Everything that has a number, in the order of the numbers. */
  list(): unknown[] {
    if (this.#rest === undefined) return this.#first.slice(0, this.#size);
    if (this.#embedded === undefined) return [...this.#rest.keys()];
    const list: unknown[] = Array.from({ length: this.#size });
    for (const [value, number] of this.#rest) list[number] = value;
    for (const { table, base } of this.#embedded) for (const [value, number] of table) list[base + number] = value;
    return list;
  }

  clear(): void {
    const used = Math.min(this.#size, LINEAR);
    for (let index = 0; index < used; index++) this.#first[index] = undefined;
    this.#rest = undefined;
    this.#embedded = undefined;
    this.#size = 0;
  }

  #hash(size: number): void {
    this.#rest = new Map();
    for (let index = 0; index < size; index++) this.#rest.set(this.#first[index], index);
  }

  #findEmbedded(value: unknown): number {
    for (const { table, base } of this.#embedded ?? []) {
      const number = table.get(value);
      if (number !== undefined) return base + number;
    }
    return -1;
  }

  #overlaps(table: ReadonlyMap<unknown, number>): boolean {
    if (this.#size > table.size) {
      for (const value of table.keys()) if (this.find(value) >= 0) return true;
    } else for (const value of this.list()) if (table.has(value)) return true;
    return false;
  }
}
