import { isDeepStrictEqual, types } from "node:util";
import { isObject } from "../../checks/index.ts";
import { captureNumber, EngineClosed, readVariable, type ScopeView, viewFunction } from "../engine/index.ts";
import { digestOf, hasOnlyFields, heldAt, heldBeside, heldInstance } from "../modules/index.ts";
import { isFunction, revivedSource, type ShippingPolicy, sourceTextOf } from "../shipment/index.ts";
import { previewOf } from "./dismantle.ts";

/**
 * Where an instance is kept: in a static member of its class, among the exports of a package, or in an entry of a `Map` in
 * a variable around its class.
 */
export interface KeptPlace {
  readonly place: "static" | "export" | "entry";
  /** The name of the member, export or variable. */
  readonly name: string;
  /** The key of an entry. */
  readonly key: unknown;
  /** What the instance holds, for one that is not an entry: the receiver's own has to be the same. */
  readonly digest: string;
}

/** What one class keeps. */
interface ClassPlaces {
  readonly maps: readonly (readonly [name: string, map: Map<unknown, unknown>])[];
  /** The instances in them, as of the capture of that number. */
  instances: ReadonlyMap<object, KnownPlace>;
  capture: number | undefined;
  /** How many entries the maps had at that time. */
  size: number;
}

const places = new WeakMap<object, ClassPlaces>();
type KnownPlace = KeptPlace & { readonly place: "static" | "entry" };
const NONE: ReadonlyMap<object, KnownPlace> = new Map();

/** The classes that do not keep anything for the receiver, as of the capture of that number. */
const nothingKept = { capture: captureNumber(), classes: new Set<object>() };

/**
 * Where its class keeps an instance, if the receiver has the class by itself. Code compares such instances by identity:
 * the constants of a class, and objects that a package makes once for each name. So the receiver's own has to arrive.
 * Undefined for all others.
 */
export function keptPlaceOf(instance: object, cls: object, policy: ShippingPolicy): KeptPlace | undefined {
  const capture = captureNumber();
  const held = heldAt(instance);
  if (nothingKept.capture !== capture) {
    nothingKept.capture = capture;
    nothingKept.classes.clear();
  }
  if (held === undefined && nothingKept.classes.has(cls)) return undefined;
  const kept = keptBy(cls, capture, policy);
  if (kept.size === 0) nothingKept.classes.add(cls);
  const place = kept.get(instance);
  if (place?.place === "entry") return place;
  const isExport = place === undefined && held !== undefined && isReference(cls, policy) && isConstant(instance, held);
  const name = place?.name ?? (isExport ? held.name : undefined);
  const digest = name === undefined ? undefined : digestOf(instance);
  if (name === undefined || digest === undefined) return undefined;
  return { place: place === undefined ? "export" : "static", name, key: undefined, digest };
}

function isReference(cls: object, policy: ShippingPolicy): boolean {
  return isFunction(cls) && previewOf(cls, policy).way === "reference";
}

/** A single one may be the state of a program, which a task must not get its hands on. */
function isConstant(instance: object, { holder, name }: { readonly holder: object; readonly name: string }): boolean {
  if (Object.isFrozen(instance) || heldBeside(instance, holder).size > 1) return true;
  return /(?:^|\.)[A-Z][A-Z0-9_]*$/.test(name) && hasOnlyFields(instance) && !hasMutators(instance);
}

/** An assignment to a field of `this`. */
const ASSIGNMENT =
  /\bthis(?:\.[\w$#]+|\[[^\]]*\])\s*(?:(?:[-+*/%&|^]|<<|>>>?|\*\*|\?\?|&&|\|\|)?=(?![=>])|\+\+|--)|(?:\+\+|--)this\b/;

/** True when methods of an object assign to its fields. */
function hasMutators(instance: object): boolean {
  for (let prototype = Reflect.getPrototypeOf(instance); prototype !== null && prototype !== Object.prototype; ) {
    for (const key of Reflect.ownKeys(prototype)) {
      const { value, get, set } = Reflect.getOwnPropertyDescriptor(prototype, key) ?? {};
      const code = key === "constructor" ? [get, set] : [value, get, set];
      if (code.some((each) => typeof each === "function" && ASSIGNMENT.test(sourceTextOf(each)))) return true;
    }
    prototype = Reflect.getPrototypeOf(prototype);
  }
  return false;
}

function keptBy(cls: object, capture: number | undefined, policy: ShippingPolicy): ReadonlyMap<object, KnownPlace> {
  if (!isReference(cls, policy)) return NONE;
  const known = places.get(cls) ?? { maps: mapsAround(cls), instances: NONE, capture: undefined, size: -1 };
  places.set(cls, known);
  const size = known.maps.reduce((sum, [, map]) => sum + map.size, 0);
  if (capture === undefined || known.capture !== capture || known.size !== size) {
    known.instances = instancesIn(cls, known.maps);
    known.capture = capture;
    known.size = size;
  }
  return known.instances;
}

function mapsAround(cls: object): ClassPlaces["maps"] {
  const maps: [string, Map<unknown, unknown>][] = [];
  for (const [name, value] of variablesAround(cls)) if (types.isMap(value)) maps.push([name, value]);
  return maps;
}

function instancesIn(cls: object, maps: ClassPlaces["maps"]): ReadonlyMap<object, KnownPlace> {
  const found = new Map<object, KnownPlace>();
  for (const [name, map] of maps) {
    for (const [key, value] of Map.prototype.entries.call(map)) {
      if (isPrimitive(key) && isInstance(value, cls)) found.set(value, { place: "entry", name, key, digest: "" });
    }
  }
  for (const [name, value] of staticsOf(cls)) {
    if (isConstant(value, { holder: cls, name }))
      found.set(value, { place: "static", name, key: undefined, digest: "" });
  }
  return found;
}

function* staticsOf(cls: object): Generator<[string, object]> {
  for (const name of Object.getOwnPropertyNames(cls)) {
    if (name === "prototype" || name === "caller" || name === "arguments") continue;
    const value: unknown = Reflect.getOwnPropertyDescriptor(cls, name)?.value;
    if (isInstance(value, cls)) yield [name, value];
  }
}

function isInstance(value: unknown, cls: object): value is object {
  if (typeof value !== "object" || value === null || types.isProxy(value)) return false;
  return Reflect.getPrototypeOf(value) === Reflect.get(cls, "prototype");
}

function isPrimitive(value: unknown): boolean {
  return (typeof value !== "object" || value === null) && typeof value !== "function" && typeof value !== "symbol";
}

/** The variables of modules and functions around a class, inner ones first. */
function* variablesAround(cls: object): Generator<[string, unknown]> {
  const seen = new Set<string>();
  for (const scope of scopesOf(cls)) {
    for (const name of Object.keys(scope.variables)) {
      if (seen.has(name)) continue;
      seen.add(name);
      yield [name, readVariable(scope, name)];
    }
  }
}

function scopesOf(cls: object): readonly ScopeView[] {
  try {
    return viewFunction(cls).scopes.filter(
      ({ description }) => !description.startsWith("Global") && description !== "Script",
    );
  } catch (error) {
    if (error instanceof EngineClosed) return [];
    throw error;
  }
}

const variables = new WeakMap<object, Map<string, unknown>>();

/**
 * This process's own instance for one that its class or its package keeps at the sender, with the same contents. Undefined
 * when there is none, or it holds something else: then a copy takes its place.
 */
export function keptObjectAt(cls: object, { place, name, digest }: KeptPlace): object | undefined {
  if (!isFunction(cls) || revivedSource(cls) !== undefined) return undefined;
  const prototype: unknown = Reflect.get(cls, "prototype");
  const found: unknown =
    place === "static"
      ? Reflect.getOwnPropertyDescriptor(cls, name)?.value
      : isObject(prototype)
        ? heldInstance(prototype, name)
        : undefined;
  return isInstance(found, cls) && digestOf(found) === digest ? found : undefined;
}

/**
 * The same for an entry of a `Map`. One that is missing is made, as the class would do. Undefined when there is no such
 * `Map`, or when the entry has other fields.
 */
export function keptEntryAt(
  cls: object,
  { name, key }: KeptPlace,
  fields: ReadonlyMap<string, unknown>,
): object | undefined {
  if (!isFunction(cls) || revivedSource(cls) !== undefined || !isPrimitive(key)) return undefined;
  const held = variableAround(cls, name);
  if (!types.isMap(held)) return undefined;
  const existing: unknown = Map.prototype.get.call(held, key);
  if (existing !== undefined || Map.prototype.has.call(held, key)) return sameInstance(existing, cls, fields);
  const prototype: unknown = Reflect.get(cls, "prototype");
  if (!isObject(prototype)) return undefined;
  const made: object = Object.create(prototype);
  for (const [field, value] of fields) {
    Object.defineProperty(made, field, { value, writable: true, enumerable: true, configurable: true });
  }
  Map.prototype.set.call(held, key, made);
  return made;
}

function sameInstance(value: unknown, cls: object, fields: ReadonlyMap<string, unknown>): object | undefined {
  if (!isInstance(value, cls)) return undefined;
  const keys = Reflect.ownKeys(value);
  const isSame = (key: string | symbol): boolean =>
    typeof key === "string" &&
    fields.has(key) &&
    isDeepStrictEqual(Reflect.getOwnPropertyDescriptor(value, key)?.value, fields.get(key));
  return keys.length === fields.size && keys.every(isSame) ? value : undefined;
}

/** A variable around a class. The engine is asked once: variables that hold registries are not assigned to again. */
function variableAround(cls: object, wanted: string): unknown {
  const known = variables.get(cls) ?? new Map<string, unknown>();
  variables.set(cls, known);
  if (!known.has(wanted)) {
    for (const [name, value] of variablesAround(cls)) if (name === wanted) known.set(name, value);
  }
  return known.get(wanted);
}
