import { types } from "node:util";
import {
  adoptCollection,
  collectionId,
  collectionWithId,
  isWeakCollection,
  type WeakCollection,
} from "../weak-collections.ts";
import type { InternalState } from "./internal-state.ts";

const MAP = 0;
const SET = 1;

/**
 * `WeakMap`s and `WeakSet`s, by an id: a collection that returns to its origin is the original, and one that arrives
 * twice is one object. Their entries for objects in the payload are at its end.
 */
export const weakState: InternalState<WeakCollection> = {
  number: 14,
  is: isWeakCollection,
  variant: (collection) => (types.isWeakMap(collection) ? MAP : SET),
  prototype: (variant) => [WeakMap.prototype, WeakSet.prototype][variant],
  writeShell(writer, collection) {
    writer.string(collectionId(collection));
    writer.noteCollection(collection);
  },
  readShell(reader, variant) {
    const id = reader.text();
    let collection = collectionWithId(id);
    if (collection === undefined || (variant === MAP) !== types.isWeakMap(collection)) {
      collection = variant === SET ? new WeakSet() : new WeakMap();
      adoptCollection(collection, id);
    } else reader.keep(collection);
    reader.noteCollection(collection);
    return collection;
  },
};
