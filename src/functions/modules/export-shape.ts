import { contentHash, sourceTextOf } from "../shipment/index.ts";

/** Properties that every function has, and every prototype. */
export const OF_EVERY_FUNCTION: ReadonlySet<string> = new Set([
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
 * A short hash of the functions that a function or prototype of a package has as members, static and for instances;
 * empty when there are none. A program that adds members, as with a plugin, gets another hash than a process that only
 * loads the package.
 *
 * @param withCode - include their code: a class that is found only through an instance may be another class elsewhere
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

/** True for a class of zod 4: it gets its members when its first instance is made, in every process. */
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

/** The step of a path from an object to its prototype. */
export const INHERITED = "__proto__";

/** True for a path to a prototype, or to its class, through an instance. */
export function isByInstance(path: readonly string[]): boolean {
  return path.includes(INHERITED);
}

/** The unique symbols that are keys of an object, by their name in a path. Symbols that share a description are left out. */
export function symbolsOf(holder: object): Map<string, symbol> {
  const found = new Map<string, symbol>();
  const twice = new Set<string>();
  for (const symbol of Object.getOwnPropertySymbols(holder)) {
    const step = String(symbol);
    if (found.has(step)) twice.add(step);
    if (Symbol.keyFor(symbol) === undefined && !WELL_KNOWN.has(symbol)) found.set(step, symbol);
  }
  for (const step of twice) found.delete(step);
  return found;
}

const WELL_KNOWN: ReadonlySet<unknown> = new Set(
  Object.getOwnPropertyNames(Symbol).map((name) => Reflect.get(Symbol, name)),
);

/** The result of one step of a path from an object: a property, or the symbol of that name among its keys. */
export function stepFrom(holder: object, step: string): unknown {
  const isOfSymbol = step.startsWith("Symbol(") && !(step in holder);
  return isOfSymbol ? symbolsOf(holder).get(step) : Reflect.get(holder, step);
}
