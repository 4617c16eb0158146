import { inspect } from "node:util";

/** A live view of a map that cannot change the map, even if it is cast to another type. */
export class ReadOnlyMap<K, V> implements ReadonlyMap<K, V> {
  readonly #map: ReadonlyMap<K, V>;

  constructor(map: ReadonlyMap<K, V>) {
    this.#map = map;
    Object.freeze(this);
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  keys(): ReturnType<ReadonlyMap<K, V>["keys"]> {
    return this.#map.keys();
  }

  values(): ReturnType<ReadonlyMap<K, V>["values"]> {
    return this.#map.values();
  }

  entries(): ReturnType<ReadonlyMap<K, V>["entries"]> {
    return this.#map.entries();
  }

  [Symbol.iterator](): ReturnType<ReadonlyMap<K, V>["entries"]> {
    return this.#map.entries();
  }

  forEach(call: (value: V, key: K, map: ReadonlyMap<K, V>) => void, self?: unknown): void {
    for (const [key, value] of this.#map) Reflect.apply(call, self, [value, key, this]);
  }

  get [Symbol.toStringTag](): string {
    return "Map";
  }

  /** Printed like the map itself. */
  [inspect.custom](): ReadonlyMap<K, V> {
    return new Map(this.#map);
  }
}
