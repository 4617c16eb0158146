import { isRecord } from "./code-data.ts";
import type { PartsList, PlainData } from "./shipment.ts";

const ENUMERABLE = 1;
const CONFIGURABLE = 2;
const WRITABLE = 4;
const ABSENT = -1;

/** How far an object is closed to changes. */
export type Integrity = "open" | "unextensible" | "sealed" | "frozen";

function keyLabel(key: string | symbol): string {
  return typeof key === "string" ? `.${key}` : `[${String(key)}]`;
}

/** Describes one own property. Its values go into `parts`; accessors are not run. */
function describeProperty(
  key: string | symbol,
  descriptor: PropertyDescriptor,
  parts: PartsList,
  prefix = "",
): PlainData {
  const label = prefix + keyLabel(key);
  const name = typeof key === "string" ? key : { symbol: parts.add(key, label) };
  const flags =
    (descriptor.enumerable === true ? ENUMERABLE : 0) |
    (descriptor.configurable === true ? CONFIGURABLE : 0) |
    (descriptor.writable === true ? WRITABLE : 0);
  if ("value" in descriptor) return [name, flags, parts.add(descriptor.value, label)];
  return [
    name,
    flags,
    descriptor.get === undefined ? ABSENT : parts.add(descriptor.get, `${label} (getter)`),
    descriptor.set === undefined ? ABSENT : parts.add(descriptor.set, `${label} (setter)`),
  ];
}

/** Describes the own properties that `isIncluded` accepts, or those of `keys` that it accepts. */
export function describeProperties(
  object: object,
  isIncluded: (key: string | symbol, descriptor: PropertyDescriptor) => boolean,
  parts: PartsList,
  prefix = "",
  keys: readonly (string | symbol)[] = Reflect.ownKeys(object),
): PlainData[] {
  const described: PlainData[] = [];
  for (const key of keys) {
    const descriptor = Reflect.getOwnPropertyDescriptor(object, key);
    if (descriptor === undefined || !isIncluded(key, descriptor)) continue;
    described.push(describeProperty(key, descriptor, parts, prefix));
  }
  return described;
}

function partAt(parts: readonly unknown[], index: PlainData | undefined): unknown {
  return typeof index === "number" && index >= 0 ? parts[index] : undefined;
}

function isCallable(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === "function";
}

function accessorAt(parts: readonly unknown[], index: PlainData | undefined): PropertyDescriptor["get"] {
  const value = partAt(parts, index);
  return isCallable(value) ? value : undefined;
}

/** The keys of properties that were described. */
export function* describedKeys(
  described: PlainData | undefined,
  parts: readonly unknown[],
): Generator<string | symbol> {
  for (const property of Array.isArray(described) ? described : []) {
    const name = Array.isArray(property) ? property[0] : undefined;
    const key = isRecord(name) ? partAt(parts, name["symbol"]) : name;
    if (typeof key === "string" || typeof key === "symbol") yield key;
  }
}

/** Defines properties as they were described. An existing property that cannot be changed is left as it is. */
export function defineDescribed(object: object, described: PlainData | undefined, parts: readonly unknown[]): void {
  if (!Array.isArray(described)) return;
  for (const property of described) {
    if (!Array.isArray(property)) continue;
    const [name, flags, first, second] = property;
    const key = isRecord(name) ? partAt(parts, name["symbol"]) : name;
    if ((typeof key !== "string" && typeof key !== "symbol") || typeof flags !== "number") continue;
    const descriptor: PropertyDescriptor = {
      enumerable: (flags & ENUMERABLE) !== 0,
      configurable: (flags & CONFIGURABLE) !== 0,
    };
    const get = property.length === 3 ? undefined : accessorAt(parts, first);
    const set = property.length === 3 ? undefined : accessorAt(parts, second);
    if (get !== undefined) descriptor.get = get;
    if (set !== undefined) descriptor.set = set;
    if (get === undefined && set === undefined) {
      descriptor.value = property.length === 3 ? partAt(parts, first) : undefined;
      descriptor.writable = (flags & WRITABLE) !== 0;
    }
    Reflect.defineProperty(object, key, descriptor);
  }
}

/** How far an object is closed to changes. */
export function integrityOf(object: object): Integrity {
  if (Object.isExtensible(object)) return "open";
  return Object.isFrozen(object) ? "frozen" : Object.isSealed(object) ? "sealed" : "unextensible";
}

/** Closes an object as far as `integrityOf` said. */
export function applyIntegrity(object: object, integrity: PlainData | undefined): void {
  if (integrity === "frozen") Object.freeze(object);
  else if (integrity === "sealed") Object.seal(object);
  else if (integrity === "unextensible") Object.preventExtensions(object);
}
