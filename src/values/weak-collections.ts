import { types } from "node:util";
import { PortableIds } from "./function-port.ts";

/** A collection whose entries cannot be listed, only looked up by object. */
export type WeakCollection = WeakMap<WeakKey, unknown> | WeakSet<WeakKey>;

/** No collections: shared by all payloads without any. */
export const NO_COLLECTIONS: readonly WeakCollection[] = Object.freeze([]);

const collections = new PortableIds<WeakCollection>();
const { get, has: hasInMap, set } = WeakMap.prototype;
const { add, has: hasInSet } = WeakSet.prototype;

/** True for a `WeakMap` or `WeakSet`. */
export function isWeakCollection(value: object): value is WeakCollection {
  return types.isWeakMap(value) || types.isWeakSet(value);
}

/** The id of a collection. It is the same in every process. */
export function collectionId(collection: WeakCollection): string {
  return collections.identify(collection);
}

/** The collection with that id: the original at its origin, elsewhere its stand-in. */
export function collectionWithId(id: string): WeakCollection | undefined {
  return collections.find(id);
}

/** Makes a new collection the stand-in for one from elsewhere. */
export function adoptCollection(collection: WeakCollection, id: string): void {
  collections.adopt(collection, id);
}

/** True when `collection` has `key`. Methods of subclasses are not called. */
export function holds(collection: WeakCollection, key: WeakKey): boolean {
  return Reflect.apply(types.isWeakMap(collection) ? hasInMap : hasInSet, collection, [key]);
}

/** The value of a `WeakMap` for `key`. */
export function heldFor(collection: WeakMap<WeakKey, unknown>, key: WeakKey): unknown {
  return Reflect.apply(get, collection, [key]);
}

/** Puts an entry into a collection. Throws `TypeError` for a key that it cannot have. */
export function hold(collection: WeakCollection, key: unknown, value: unknown): void {
  if (types.isWeakMap(collection)) Reflect.apply(set, collection, [key, value]);
  else Reflect.apply(add, collection, [key]);
}
