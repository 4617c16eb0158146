import { ownProperty, type Property } from "./own-property.ts";

/** The property of a thrown object that lists the omitted ones. */
const DROPPED = "dropped";

/** Properties that are left out or added when an object is written. */
export interface PropertyChanges {
  /** True when properties of `holder` are left out or added. */
  concern(holder: object): boolean;
  /** True for a property that is left out. */
  has(holder: object, key: string | symbol): boolean;
  /** The property that is added to `holder`. */
  additionTo(holder: object): { readonly key: string | symbol; readonly property: Property } | undefined;
}

/** The properties that are left out of a thrown value because they cannot travel. */
export class Omissions implements PropertyChanges {
  readonly #root: object;
  readonly #keys = new Map<object, Set<string | symbol>>();
  readonly #paths: string[] = [];

  /** @param root - the thrown object: it gets the list of omitted properties */
  constructor(root: object) {
    this.#root = root;
  }

  /** How many properties are left out. */
  get size(): number {
    return this.#paths.length;
  }

  add(holder: object, key: string | symbol, path: string): void {
    const keys = this.#keys.get(holder) ?? new Set();
    this.#keys.set(holder, keys.add(key));
    this.#paths.push(path);
  }

  concern(holder: object): boolean {
    return holder === this.#root || this.#keys.has(holder);
  }

  has(holder: object, key: string | symbol): boolean {
    return this.#keys.get(holder)?.has(key) === true;
  }

  /** The property that is added to `holder`: the thrown object lists the omitted ones, unless it uses that name itself. */
  additionTo(holder: object): { readonly key: string; readonly property: Property } | undefined {
    if (holder !== this.#root || this.#paths.length === 0) return undefined;
    const own = ownProperty(holder, DROPPED);
    const before = own === undefined ? [] : pathsIn(own);
    if (before === undefined) return undefined;
    const value = [...before, ...this.#paths];
    return { key: DROPPED, property: { value, writable: true, enumerable: false, configurable: true } };
  }
}

/** The paths that an error lost when it travelled before; undefined for a user's property. */
function pathsIn({ value, enumerable }: Property): string[] | undefined {
  if (enumerable === true || !Array.isArray(value)) return undefined;
  return value.every((path) => typeof path === "string") ? value : undefined;
}
