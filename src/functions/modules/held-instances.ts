import { types } from "node:util";
import { isReader } from "./export-places.ts";

/*
 * Instances that the exports of packages hold: constants such as `GraphQLString` of graphql, or `RRule.MO`, which is no
 * instance of `RRule`. Code compares some of them by identity.
 */

/** Where an instance is held. */
interface Held {
  readonly holder: object;
  /** The steps from the exports of the package, with dots between them. */
  readonly name: string;
}

const places = new WeakMap<object, Held>();
/** By the prototypes of the instances. */
const instances = new WeakMap<object, Map<string, object>>();
const MOST_OF_A_CLASS = 1000;

/** Remembers that `holder`, which is an export of a package or part of one, has an instance. */
export function noteHeld(instance: object, holder: object, path: readonly string[]): void {
  const prototype = Reflect.getPrototypeOf(instance);
  if (prototype === null) return;
  const name = path.join(".");
  const known = instances.get(prototype) ?? new Map<string, object>();
  if (known.size >= MOST_OF_A_CLASS || known.has(name)) return;
  instances.set(prototype, known);
  known.set(name, instance);
  if (!places.has(instance)) places.set(instance, { holder, name });
}

/** Where the exports of a package hold an instance; undefined for nearly all. */
export function heldAt(instance: object): Held | undefined {
  return places.get(instance);
}

/** The instance with that prototype that a package of this process holds under a name. */
export function heldInstance(prototype: object, name: string): object | undefined {
  return instances.get(prototype)?.get(name);
}

/** The different instances with the same prototype that an object has as members. */
export function heldBeside(instance: object, holder: object): ReadonlySet<object> {
  const prototype = Reflect.getPrototypeOf(instance);
  const found = new Set<object>();
  if (types.isProxy(holder)) return found;
  for (const key of Object.getOwnPropertyNames(holder)) {
    const value = memberOf(holder, key);
    if (typeof value !== "object" || value === null || types.isProxy(value)) continue;
    if (Reflect.getPrototypeOf(value) === prototype) found.add(value);
  }
  return found;
}

/** A member of an object, without running code of users; undefined for an export that is not initialised yet. */
export function memberOf(holder: object, key: string): unknown {
  try {
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, key);
    return isReader(descriptor?.get) ? Reflect.get(holder, key) : descriptor?.value;
  } catch {
    // Not initialised yet.
    return undefined;
  }
}
