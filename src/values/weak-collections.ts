import { types } from "node:util";
import { MalformedPayload, TRUE } from "./bytes/index.ts";
import { PortableIds } from "./function-port.ts";
import type { GraphReader, GraphWriter } from "./graph/index.ts";
import { ValueRefusal } from "./value-refusal.ts";

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
function hold(collection: WeakCollection, key: unknown, value: unknown): void {
  if (types.isWeakMap(collection)) Reflect.apply(set, collection, [key, value]);
  else Reflect.apply(add, collection, [key]);
}

/** Writes one entry of a collection, for an object of the payload. */
export function writeEntry(writer: GraphWriter, collection: WeakCollection, key: WeakKey): void {
  writer.byte(TRUE);
  try {
    writer.value(collection);
    writer.value(key);
    if (types.isWeakMap(collection)) writer.value(heldFor(collection, key));
    writer.writeLater();
  } catch (error) {
    if (!(error instanceof ValueRefusal)) throw error;
    throw new ValueRefusal(key, error.message, error.fix, ["its value in a WeakMap", ...error.steps], error.cause);
  }
}

/** Reads the entries at the end of a payload. */
export function readEntries(reader: GraphReader): void {
  while (reader.value() === true) {
    const collection = reader.value();
    if (typeof collection !== "object" || collection === null || !isWeakCollection(collection)) {
      throw new MalformedPayload("an entry in the payload belongs to no weak collection");
    }
    const key = reader.value();
    const value = types.isWeakMap(collection) ? reader.value() : undefined;
    try {
      hold(collection, key, value);
    } catch (error) {
      throw new MalformedPayload("the key of an entry in the payload cannot be held weakly", { cause: error });
    }
    reader.readLater();
  }
}

/** True for a value that a weak collection may have as a key. */
export function isWeakKey(value: unknown): value is WeakKey {
  return (typeof value === "object" && value !== null) || typeof value === "function" || typeof value === "symbol";
}
