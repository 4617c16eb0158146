import { ownProperty } from "../own-property.ts";

/** The global class, or class of `Intl`, that has this name; nothing is loaded for any other name. */
function platformClass(name: string): unknown {
  return Reflect.get(globalThis, name) ?? Reflect.get(Intl, name);
}

/** The first of `names` that names a class of the platform from which objects with this prototype inherit. */
export function inheritedClass(prototype: object, names: { has(name: string): boolean }): string | undefined {
  for (let holder: object | null = prototype; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const constructor = ownProperty(holder, "constructor")?.value;
    if (typeof constructor !== "function") continue;
    const { name } = constructor;
    if (names.has(name) && platformClass(name) === constructor) return name;
  }
  return undefined;
}

/** True when `probe` does not throw: it throws when the state is missing. */
export function succeeds(probe: () => unknown): boolean {
  try {
    probe();
    return true;
  } catch {
    return false;
  }
}

/** The keys under which the platform keeps the state of an object like the one that `make` returns. */
export function platformKeys(make: () => object): (key: string | symbol) => boolean {
  let keys: Set<string | symbol> | undefined;
  return (key) => {
    keys ??= new Set(Reflect.ownKeys(make()));
    return keys.has(key);
  };
}
