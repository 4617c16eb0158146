import { types } from "node:util";
import { intrinsicPathOf } from "../engine/index.ts";
import { builtinPlaceOf, importedAs } from "../modules/index.ts";
import { describeProperties, integrityOf, isNotedConstructor, PartsList, type PlainData } from "../shipment/index.ts";

type Facts = { readonly [key: string]: PlainData };

/** What every function has of itself. */
export const STANDARD_KEYS: ReadonlySet<string | symbol> = new Set([
  "length",
  "name",
  "prototype",
  "arguments",
  "caller",
]);
const DEFAULT_PROTOTYPES: ReadonlySet<string> = new Set([
  "Function.prototype",
  "%AsyncFunction.prototype%",
  "%GeneratorFunction.prototype%",
  "%AsyncGeneratorFunction.prototype%",
]);

/** Everything about a function object that its code does not tell. Live values go into `parts`. */
export function describeFunction(fn: object, parts: PartsList): Facts {
  const facts: Record<string, PlainData> = { ...describeNameAndLength(fn) };
  if (!hasOnlyStandardProperties(fn, facts)) {
    const added = Reflect.ownKeys(fn).filter((key) => isOwnAddition(fn, key));
    const properties = describeProperties(fn, () => true, parts, "", added);
    if (properties.length > 0) facts["properties"] = properties;
  }
  if (!hasUsualParent(fn)) facts["parent"] = parts.add(Reflect.getPrototypeOf(fn), "[[Prototype]]");
  const prototype = describePrototype(fn, parts);
  if (prototype !== undefined) facts["prototype"] = prototype;
  if (isNotedConstructor(fn) || prototype !== undefined) facts["constructs"] = true;
  const integrity = integrityOf(fn);
  if (integrity !== "open") facts["integrity"] = integrity;
  return facts;
}

/** True when `describeFunction` would tell nothing about a function but this name and this length. */
export function isUnaltered(fn: object, name: unknown, length: unknown): boolean {
  return (
    hasLabel(fn, "name", name) &&
    hasLabel(fn, "length", length) &&
    Reflect.ownKeys(fn).every((key) => STANDARD_KEYS.has(key)) &&
    hasUsualParent(fn) &&
    !isNotedConstructor(fn) &&
    Object.isExtensible(fn) &&
    describePrototype(fn, new PartsList()) === undefined
  );
}

function hasLabel(fn: object, key: "name" | "length", value: unknown): boolean {
  const label = Reflect.getOwnPropertyDescriptor(fn, key);
  return label !== undefined && label.value === value && isStandard(label, typeof value);
}

function hasUsualParent(fn: object): boolean {
  const parent = Reflect.getPrototypeOf(fn);
  return parent !== null && DEFAULT_PROTOTYPES.has(intrinsicPathOf(parent) ?? "");
}

/** True for most functions. Reading the `arguments` and `caller` of a function would take longer than all the rest. */
function hasOnlyStandardProperties(fn: object, facts: Facts): boolean {
  return "name" in facts && "length" in facts && Reflect.ownKeys(fn).every((key) => STANDARD_KEYS.has(key));
}

function isOwnAddition(fn: object, key: string | symbol): boolean {
  if (!STANDARD_KEYS.has(key)) return true;
  return (key === "name" || key === "length") && !isStandardLabel(fn, key);
}

/** `name` and `length` as the engine defines them; anything else in their place is an ordinary property. */
function isStandardLabel(fn: object, key: "name" | "length"): boolean {
  const descriptor = Reflect.getOwnPropertyDescriptor(fn, key);
  return descriptor === undefined || isStandard(descriptor, key === "name" ? "string" : "number");
}

function isStandard({ value, writable, enumerable, configurable }: PropertyDescriptor, type: string): boolean {
  return typeof value === type && writable === false && enumerable === false && configurable === true;
}

/** The name and length of a function: null when it has none, absent when it is an ordinary property. */
export function describeNameAndLength(fn: object): { name?: string | null; length?: number | null } {
  const facts: { name?: string | null; length?: number | null } = {};
  if (isStandardLabel(fn, "name")) {
    const name: unknown = Reflect.getOwnPropertyDescriptor(fn, "name")?.value;
    facts.name = typeof name === "string" ? name : null;
  }
  if (isStandardLabel(fn, "length")) {
    const length: unknown = Reflect.getOwnPropertyDescriptor(fn, "length")?.value;
    facts.length = typeof length === "number" && Number.isSafeInteger(length) ? length : null;
  }
  return facts;
}

/**
 * The object that `new` gives to instances. The function's original prototype is filled in place, so that all
 * references lead to the same object. An object that was assigned as prototype is an ordinary value.
 */
function describePrototype(fn: object, parts: PartsList): PlainData | undefined {
  const prototype: unknown = Reflect.getOwnPropertyDescriptor(fn, "prototype")?.value;
  if (typeof prototype !== "object" || prototype === null) return undefined;
  const parent = Reflect.getPrototypeOf(prototype);
  if (types.isGeneratorFunction(fn) && parent !== null && intrinsicPathOf(parent) !== undefined) {
    return describeInPlace(prototype, () => true, parts, true);
  }
  if (!isOwnPrototype(fn, prototype)) {
    if (!takesPlace(fn, prototype)) return { value: parts.add(prototype, ".prototype") };
    const facts = describeInPlace(prototype, () => true, parts, parent !== null);
    return { ...facts, replaced: true };
  }
  return describeInPlace(prototype, isAddedToPrototype, parts, parent === Object.prototype);
}

/**
 * Objects that a program assigned as a prototype, and their functions. The receiver uses the function's original
 * prototype for them.
 */
const replaced = new WeakMap<object, object>();

/**
 * True for an object that a program assigned as the prototype of this function first. The receiver uses the function's
 * original prototype for it.
 */
function takesPlace(fn: object, prototype: object): boolean {
  const owner = replaced.get(prototype);
  if (owner !== undefined) return owner === fn;
  const parent = Reflect.getPrototypeOf(prototype);
  if (types.isProxy(prototype) || (parent !== null && parent !== Object.prototype)) return false;
  const maker: unknown = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  if (typeof maker === "function" && maker !== fn && isOwnPrototype(maker, prototype)) return false;
  if (!hasNoInternalState(prototype) || importedAs(prototype) !== undefined) return false;
  replaced.set(prototype, fn);
  return true;
}

/** The function whose original prototype the receiver uses for an object; undefined for other objects. */
export function replacedPrototypeOf(prototype: object): object | undefined {
  const owner = replaced.get(prototype);
  return owner !== undefined && Reflect.get(owner, "prototype") === prototype ? owner : undefined;
}

/** True for the original prototype of a function. */
export function isOwnPrototype(fn: object, prototype: object): boolean {
  if (Reflect.getOwnPropertyDescriptor(fn, "prototype")?.value !== prototype) return false;
  if (Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value !== fn) return false;
  return hasNoInternalState(prototype);
}

/** True for every property but the engine's own `constructor`. */
function isAddedToPrototype(key: string | symbol, { enumerable, writable, configurable }: PropertyDescriptor): boolean {
  return key !== "constructor" || enumerable === true || writable !== true || configurable !== true;
}

/** False for an array, an error, a map and so on. A user's `Symbol.toStringTag` does not hide them. */
function hasNoInternalState(object: object): boolean {
  if (Array.isArray(object) || INTERNAL_STATES.some((has) => has(object))) return false;
  for (let holder: object | null = object; holder !== null; holder = Reflect.getPrototypeOf(holder)) {
    if (Object.hasOwn(holder, Symbol.toStringTag)) {
      return intrinsicPathOf(holder) === undefined && builtinPlaceOf(holder) === undefined;
    }
  }
  return true;
}

const INTERNAL_STATES: readonly ((object: object) => boolean)[] = [
  types.isNativeError,
  types.isDate,
  types.isRegExp,
  types.isBoxedPrimitive,
  types.isArgumentsObject,
  types.isMap,
  types.isSet,
  types.isWeakMap,
  types.isWeakSet,
  types.isPromise,
  types.isArrayBufferView,
  types.isAnyArrayBuffer,
];

/** The changes to a prototype since its function or class was defined; undefined when there are none. */
export function describeInPlace(
  prototype: object,
  isAddition: (key: string | symbol, descriptor: PropertyDescriptor) => boolean,
  parts: PartsList,
  hasExpectedParent: boolean,
): Facts | undefined {
  const facts: Record<string, PlainData> = {};
  const properties = describeProperties(prototype, isAddition, parts, ".prototype");
  if (properties.length > 0) facts["properties"] = properties;
  if (!hasExpectedParent) facts["parent"] = parts.add(Reflect.getPrototypeOf(prototype), ".prototype.[[Prototype]]");
  const integrity = integrityOf(prototype);
  if (integrity !== "open") facts["integrity"] = integrity;
  return Object.keys(facts).length === 0 ? undefined : facts;
}
