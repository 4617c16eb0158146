import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import { isNotedConstructor, type RevivedSource, revivedSource, type ShippingPolicy } from "../shipment/index.ts";

/** Properties that every function has. */
const USUAL: ReadonlySet<string | symbol> = new Set(["name", "length", "prototype", "arguments", "caller"]);

/**
 * True for a function that goes back and belongs to what goes back with it: one that was passed here and has captured
 * objects, or variables that functions assign to, or one that has captured the object that holds it. Those are copies and
 * may have changed, and the original belongs to the objects of its own process. False for other functions, which go back
 * as the originals, and for constructors, whose instances need the original.
 *
 * @param isNamed - true for a value that both sides have
 */
export function isTied(
  fn: object,
  source: RevivedSource,
  { holder }: ShippingPolicy,
  isNamed: (value: object) => boolean,
): boolean {
  if (source.kind === "class" || isNotedConstructor(fn)) return false;
  if (source.isPassed === true) return holdsObjects(fn, source, isNamed, new Set());
  return holder !== undefined && source.captured().includes(holder);
}

function holdsObjects(
  fn: object,
  source: RevivedSource,
  isNamed: (value: object) => boolean,
  seen: Set<object>,
): boolean {
  seen.add(fn);
  if (Reflect.ownKeys(fn).some((key) => !USUAL.has(key))) return true;
  const home = source.home?.();
  const values = isObject(home) ? [...source.captured(), home] : source.captured();
  return values.some((value) => isObject(value) && !seen.has(value) && isOfPayload(value, isNamed, seen));
}

/** True for a value that is in the payload itself. */
function isOfPayload(value: object, isNamed: (value: object) => boolean, seen: Set<object>): boolean {
  const source = typeof value !== "function" || types.isProxy(value) ? undefined : revivedSource(value);
  if (source !== undefined) return source.kind !== "class" && holdsObjects(value, source, isNamed, seen);
  // Other functions are those of modules that this process has loaded itself.
  if (typeof value === "function" && !types.isProxy(value)) return false;
  return !isNamed(value) && !isFrozenData(value);
}

/** True for frozen objects and lists of primitive values and of such: nothing in them can differ from the original. */
function isFrozenData(value: object, seen = new Set<object>()): boolean {
  if (seen.has(value)) return true;
  seen.add(value);
  if (types.isProxy(value) || !Object.isFrozen(value)) return false;
  const prototype: unknown = Reflect.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return false;
  return Reflect.ownKeys(value).every((key) => {
    const { value: held, get }: PropertyDescriptor = Reflect.getOwnPropertyDescriptor(value, key) ?? {};
    return get === undefined && typeof held !== "function" && (!isObject(held) || isFrozenData(held, seen));
  });
}
