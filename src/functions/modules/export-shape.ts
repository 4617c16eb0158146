import { contentHash, sourceTextOf } from "../shipment/index.ts";

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

const ofNames = new WeakMap<object, KnownShape>();
const ofCode = new WeakMap<object, KnownShape>();

/**
 * What functions a function or prototype of a package has as members, itself and for its instances, as a short hash; empty
 * when none. A program that adds to them, as with a plugin, has another function than a process that only loads the
 * package.
 *
 * @param withCode - their code counts, too: what only an instance leads to may be that of another class elsewhere
 */
export function shapeOf(value: object, withCode = false): string {
  if (fillsItself(value)) return "";
  const objects = objectsOf(value);
  const count = objects.reduce((sum, object) => sum + Object.getOwnPropertyNames(object).length, 0);
  const known = withCode ? ofCode : ofNames;
  const existing = known.get(value);
  if (existing?.count === count) return existing.shape;
  const names = objects.flatMap((object, index) =>
    memberNames(object).map((name) => `${index} ${name} ${withCode ? codeOf(object, name) : ""}`),
  );
  if (withCode && typeof value === "function") names.push(sourceTextOf(value));
  const shape = names.length === 0 ? "" : contentHash(names.sort().join()).slice(0, 8);
  known.set(value, { count, shape });
  return shape;
}

function codeOf(object: object, name: string): string {
  const { value, get, set } = Reflect.getOwnPropertyDescriptor(object, name) ?? {};
  return [value, get, set].map((each) => (typeof each === "function" ? sourceTextOf(each) : "")).join();
}

/** True for a class of zod 4: it gets its members when its first instance is made, here as there. */
function fillsItself(fn: object): boolean {
  return Object.hasOwn(fn, Symbol.hasInstance) && Object.hasOwn(fn, "init");
}

function objectsOf(fn: object): object[] {
  const prototype: unknown = Reflect.getOwnPropertyDescriptor(fn, "prototype")?.value;
  return typeof prototype === "object" && prototype !== null ? [fn, prototype] : [fn];
}

function memberNames(object: object): string[] {
  return Object.getOwnPropertyNames(object).filter((name) => {
    if (typeof object === "function" ? OF_EVERY_FUNCTION.has(name) : name === "constructor") return false;
    const { value, get } = Reflect.getOwnPropertyDescriptor(object, name) ?? {};
    return get !== undefined || typeof value === "function";
  });
}
