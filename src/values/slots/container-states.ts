import { types } from "node:util";
import { arrayIndex } from "../array-index.ts";
import { MalformedPayload } from "../bytes/index.ts";
import { builtInGetter, ownProperty } from "../own-property.ts";
import { FROZEN, integrityCode } from "./integrity.ts";
import type { InternalState } from "./internal-state.ts";
import { isOpenProperty } from "./properties.ts";

const MAX_ARRAY_LENGTH = 2 ** 32 - 1;
/** An array with more holes than this is made sparse: it keeps only its elements in memory. */
const DENSE_HOLES = 64;

/** Objects without internal state. */
export const ordinaryState: InternalState = {
  number: 0,
  is: (_value): _value is object => true,
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Object.prototype : undefined),
  writeShell: () => {},
  readShell: () => ({}),
  summary: () => undefined,
};

/** Arrays that are sparse, frozen or sealed, or have other properties than elements. */
export const arrayState: InternalState<unknown[]> = {
  number: 1,
  is: (value): value is unknown[] => Array.isArray(value),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Array.prototype : undefined),
  writeShell: () => {},
  readShell: () => [],
  // Arrays have only properties.
  summary: () => undefined,
  writeBody(writer, array) {
    const integrity = integrityCode(array);
    const keys = Reflect.ownKeys(array).filter((key) => isOpenElement(array, key, integrity));
    writer.varint(array.length);
    writer.varint(keys.length);
    let next = 0;
    for (const key of keys) {
      const index = Number(key);
      writer.varint(index - next);
      writer.value(array[index]);
      next = index + 1;
    }
  },
  readBody(reader, array) {
    const length = reader.varint();
    const count = reader.count(2);
    if (length > MAX_ARRAY_LENGTH || count > length) throw new MalformedPayload("an array in the payload is too long");
    if (length - count > DENSE_HOLES) makeSparse(array);
    let index = 0;
    for (let left = count; left > 0; left--) {
      index += reader.varint();
      if (index >= length) throw new MalformedPayload("an array in the payload has elements past its length");
      Object.defineProperty(array, index++, {
        value: reader.value(),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    array.length = length;
  },
  implies(array, key, property) {
    if (key === "length") return property.writable === true || integrityCode(array) === FROZEN;
    return isOpenElement(array, key, integrityCode(array));
  },
};

/** Maps. */
export const mapState: InternalState<Map<unknown, unknown>> = {
  number: 2,
  is: (value): value is Map<unknown, unknown> => types.isMap(value),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Map.prototype : undefined),
  writeShell: () => {},
  readShell: () => new Map(),
  writeBody(writer, map) {
    writer.varint(Number(mapSize(map)));
    Map.prototype.forEach.call(map, (value, key) => {
      writer.value(key);
      writer.value(value);
    });
  },
  readBody(reader, map) {
    // A subclass may have its own `set`, which must not run again.
    for (let left = reader.count(2); left > 0; left--) Map.prototype.set.call(map, reader.value(), reader.value());
  },
};

/** Sets. */
export const setState: InternalState<Set<unknown>> = {
  number: 3,
  is: (value): value is Set<unknown> => types.isSet(value),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Set.prototype : undefined),
  writeShell: () => {},
  readShell: () => new Set(),
  writeBody(writer, set) {
    writer.varint(Number(setSize(set)));
    Set.prototype.forEach.call(set, (value) => writer.value(value));
  },
  readBody(reader, set) {
    for (let left = reader.count(); left > 0; left--) Set.prototype.add.call(set, reader.value());
  },
};

const mapSize = builtInGetter(Map.prototype, "size");
const setSize = builtInGetter(Set.prototype, "size");

function isOpenElement(array: readonly unknown[], key: string | symbol, integrity: number): boolean {
  if (arrayIndex(key) < 0) return false;
  const property = ownProperty(array, key);
  return property !== undefined && isOpenProperty(property, integrity);
}

/** An accessor among the elements makes V8 store them in a dictionary, and it keeps that when the accessor is removed. */
function makeSparse(array: unknown[]): void {
  Object.defineProperty(array, 0, { get: () => undefined, configurable: true });
  array.length = 0;
}
