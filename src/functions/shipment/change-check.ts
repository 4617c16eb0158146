import { types } from "node:util";

/** Whether one thing is still as it was. */
export type ChangeCheck = () => boolean;

/** Of every sloppy function. The engine walks the stack to read them. */
const OF_THE_STACK: ReadonlySet<string | symbol> = new Set(["arguments", "caller"]);

/** Compares the own properties of an object with what they are now, without running accessors. Not for a Proxy. */
export function watchProperties(object: object): ChangeCheck {
  const keys = Reflect.ownKeys(object);
  const isCode = typeof object === "function";
  const read = (key: string | symbol): PropertyDescriptor | undefined =>
    isCode && OF_THE_STACK.has(key) ? undefined : Reflect.getOwnPropertyDescriptor(object, key);
  const before = keys.map(read);
  const parent = Reflect.getPrototypeOf(object);
  const isExtensible = Object.isExtensible(object);
  return () => {
    if (Reflect.getPrototypeOf(object) !== parent || Object.isExtensible(object) !== isExtensible) return false;
    const now = Reflect.ownKeys(object);
    if (now.length !== keys.length) return false;
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index];
      if (key === undefined || now[index] !== key) return false;
      if (!isSameProperty(read(key), before[index])) return false;
    }
    return true;
  };
}

function isSameProperty(now: PropertyDescriptor | undefined, before: PropertyDescriptor | undefined): boolean {
  if (now === undefined || before === undefined) return now === before;
  return (
    Object.is(now.value, before.value) &&
    now.get === before.get &&
    now.set === before.set &&
    now.writable === before.writable &&
    now.enumerable === before.enumerable &&
    now.configurable === before.configurable
  );
}

/** The keys and values of a map, or the values of a set, whatever its class. */
export function entriesOf(collection: Map<unknown, unknown> | Set<unknown>): unknown[] {
  return types.isMap(collection)
    ? [...Map.prototype.entries.call(collection)].flat()
    : [...Set.prototype.values.call(collection)];
}

/** Compares the entries of a map or set with what they are now. */
export function watchEntries(collection: Map<unknown, unknown> | Set<unknown>): ChangeCheck {
  const before = entriesOf(collection);
  return () => {
    const now = entriesOf(collection);
    return now.length === before.length && now.every((item, index) => Object.is(item, before[index]));
  };
}
