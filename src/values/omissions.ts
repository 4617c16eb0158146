import { ownProperty, type Property } from "./own-property.ts";

/** The property that lists what was left out of something thrown. */
const DROPPED = "dropped";

/** Properties that are written in another way than they are. */
export interface PropertyChanges {
  /** True when `holder` is written in another way than it is. */
  concern(holder: object): boolean;
  /** True for a property that is left out. */
  has(holder: object, key: string | symbol): boolean;
  /** What `holder` gets besides its own properties. */
  additionTo(holder: object): { readonly key: string | symbol; readonly property: Property } | undefined;
}

/** The properties that are left out of something thrown, because they cannot travel. */
export class Omissions implements PropertyChanges {
  readonly #root: object;
  readonly #keys = new Map<object, Set<string | symbol>>();
  readonly #paths: string[] = [];

  /** @param root - what was thrown: it tells what was left out */
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

  /** What `holder` gets besides its own properties: the thrown object says what is missing, unless it uses the name. */
  additionTo(holder: object): { readonly key: string; readonly property: Property } | undefined {
    if (holder !== this.#root || this.#paths.length === 0) return undefined;
    const own = ownProperty(holder, DROPPED);
    const before = own === undefined ? [] : pathsIn(own);
    if (before === undefined) return undefined;
    const value = [...before, ...this.#paths];
    return { key: DROPPED, property: { value, writable: true, enumerable: false, configurable: true } };
  }
}

/** The paths that an error lost on an earlier way; undefined for a property of the user's. */
function pathsIn({ value, enumerable }: Property): string[] | undefined {
  if (enumerable === true || !Array.isArray(value)) return undefined;
  return value.every((path) => typeof path === "string") ? value : undefined;
}
