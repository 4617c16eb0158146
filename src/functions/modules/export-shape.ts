import { contentHash } from "../shipment/index.ts";

const OF_EVERY_FUNCTION: ReadonlySet<string> = new Set([
  "prototype",
  "constructor",
  "arguments",
  "caller",
  "length",
  "name",
]);

interface KnownShape {
  readonly count: number;
  readonly shape: string;
}

const known = new WeakMap<object, KnownShape>();

/**
 * What functions a function of a package has as members, itself and for its instances, as a short hash; empty when none.
 * A program that adds to them, as with a plugin, has another function than a process that only loads the package.
 */
export function shapeOf(fn: object): string {
  if (fillsItself(fn)) return "";
  const holders = holdersOf(fn);
  const count = holders.reduce((sum, holder) => sum + Object.getOwnPropertyNames(holder).length, 0);
  const existing = known.get(fn);
  if (existing?.count === count) return existing.shape;
  const names = holders.flatMap((holder, index) => memberNames(holder).map((name) => `${index} ${name}`));
  const shape = names.length === 0 ? "" : contentHash(names.sort().join()).slice(0, 8);
  known.set(fn, { count, shape });
  return shape;
}

/** True for a class of zod 4: it gets its members when its first instance is made, here as there. */
function fillsItself(fn: object): boolean {
  return Object.hasOwn(fn, Symbol.hasInstance) && Object.hasOwn(fn, "init");
}

function holdersOf(fn: object): object[] {
  const prototype: unknown = Reflect.getOwnPropertyDescriptor(fn, "prototype")?.value;
  return typeof prototype === "object" && prototype !== null ? [fn, prototype] : [fn];
}

function memberNames(holder: object): string[] {
  return Object.getOwnPropertyNames(holder).filter((name) => {
    if (OF_EVERY_FUNCTION.has(name)) return false;
    const { value, get } = Reflect.getOwnPropertyDescriptor(holder, name) ?? {};
    return get !== undefined || typeof value === "function";
  });
}
