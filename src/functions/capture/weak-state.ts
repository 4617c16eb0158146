import { types } from "node:util";
import { EngineClosed, intrinsicPathOf, readVariable, UNINITIALISED, viewFunction } from "../engine/index.ts";
import { builtinPlaceOf } from "../modules/index.ts";
import {
  isFunction,
  type PrivateState,
  revivedSource,
  runtimeNameOf,
  type ShippingPolicy,
  sourceTextOf,
} from "../shipment/index.ts";
import { dismantleWithReason } from "./dismantle.ts";

/*
 * A module may keep the state of its instances in its own `WeakMap`. If the class travels by reference, the receiver's
 * module has another `WeakMap`, so the entry for an instance travels with the instance.
 */

type Weak = WeakMap<object, unknown> | WeakSet<object>;
type Collections = ReadonlyMap<string, Weak>;

const NONE: Collections = new Map();
const beside = new WeakMap<object, Collections>();
/** Prototypes of objects without a weak collection beside their classes: nearly all. */
const plain = new WeakSet<object>();

/** The weak collections in variables around a class. Its code may keep state of instances there. */
function collectionsBeside(cls: object): Collections {
  const known = beside.get(cls);
  if (known !== undefined) return known;
  const { collections, isFinal } = findCollections(cls);
  if (isFinal) beside.set(cls, collections);
  return collections;
}

interface Found {
  readonly collections: Collections;
  /** False while a variable is not initialised: it may get a collection later. */
  readonly isFinal: boolean;
}

const NOTHING: Found = { collections: NONE, isFinal: true };

function findCollections(cls: object): Found {
  if (intrinsicPathOf(cls) !== undefined || builtinPlaceOf(cls) !== undefined) return NOTHING;
  if (revivedSource(cls) !== undefined || runtimeNameOf(cls) !== undefined) return NOTHING;
  if (sourceTextOf(cls).endsWith("{ [native code] }")) return NOTHING;
  const found = new Map<string, Weak>();
  let isFinal = true;
  for (const scope of scopesOfClass(cls)) {
    if (scope.description.startsWith("Global")) continue;
    for (const name of Object.keys(scope.variables)) {
      const value = readVariable(scope, name, UNINITIALISED);
      if (value === UNINITIALISED) isFinal = false;
      if (isWeak(value) && !found.has(name)) found.set(name, value);
    }
  }
  return { collections: found, isFinal };
}

function scopesOfClass(cls: object): ReturnType<typeof viewFunction>["scopes"] {
  try {
    return viewFunction(cls).scopes;
  } catch (error) {
    if (error instanceof EngineClosed) return [];
    throw error;
  }
}

function isWeak(value: unknown): value is Weak {
  return types.isWeakMap(value) || types.isWeakSet(value);
}

/** The name of a collection: the number of steps from the owner's prototype to that of its class, then the variable. */
const NAME = /^@(\d+) (.+)$/;

/** True for the name of a collection beside a class; other names of private state are those of private fields. */
export function isWeakName(name: string): boolean {
  return NAME.test(name);
}

/**
 * The entries for an object in collections beside those of its classes that the receiver loads by itself; undefined for
 * most objects. The first of these classes is the owner.
 */
export function weakStateOf(object: object, policy: ShippingPolicy): PrivateState | undefined {
  const prototype = Reflect.getPrototypeOf(object);
  if (prototype === null || plain.has(prototype)) return undefined;
  const held: { readonly step: number; readonly name: string; readonly collection: Weak }[] = [];
  let isPlain = true;
  let step = 0;
  for (const constructor of constructorsOf(object)) {
    const collections = constructor === undefined ? NONE : collectionsBeside(constructor);
    if (collections.size > 0 || (constructor !== undefined && !beside.has(constructor))) isPlain = false;
    for (const [name, collection] of collections) {
      if (holds(collection, object)) held.push({ step, name, collection });
    }
    step += 1;
  }
  if (isPlain) plain.add(prototype);
  if (held.length === 0) return undefined;
  const anchor = anchorOf(object, policy);
  if (anchor === undefined) return undefined;
  const travelling = held.filter(({ step: at }) => at >= anchor.step);
  if (travelling.length === 0) return undefined;
  return {
    owner: anchor.owner,
    names: travelling.map(({ step: at, name }) => `@${at - anchor.step} ${name}`),
    values: travelling.map(({ collection }) => heldFor(collection, object)),
  };
}

function holds(collection: Weak, object: object): boolean {
  return Reflect.apply(types.isWeakMap(collection) ? WeakMap.prototype.has : WeakSet.prototype.has, collection, [
    object,
  ]);
}

function heldFor(collection: Weak, object: object): unknown {
  return types.isWeakMap(collection) ? Reflect.apply(WeakMap.prototype.get, collection, [object]) : undefined;
}

/** The constructors of the prototypes of an object, nearest first. */
function* constructorsOf(object: object): Generator<object | undefined> {
  for (let prototype = Reflect.getPrototypeOf(object); prototype !== null; ) {
    const constructor: unknown = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    yield typeof constructor === "function" ? constructor : undefined;
    prototype = Reflect.getPrototypeOf(prototype);
  }
}

/** The first class of an object that travels by reference. */
function anchorOf(
  object: object,
  policy: ShippingPolicy,
): { readonly owner: object; readonly step: number } | undefined {
  let step = 0;
  for (const constructor of constructorsOf(object)) {
    if (constructor !== undefined && dismantleWithReason(constructor, policy).way === "reference") {
      return { owner: constructor, step };
    }
    step += 1;
  }
  return undefined;
}

/** Puts the entries for an object into the collections beside its classes here. */
export function restoreWeakState(object: object, { owner, names, values }: PrivateState): void {
  // A class that travelled has brought its collections.
  if (revivedSource(owner) !== undefined) return;
  const prototype: unknown = Reflect.get(owner, "prototype");
  const start: object = Object.create(typeof prototype === "object" ? prototype : null);
  const constructors = [...constructorsOf(start)];
  names.forEach((each, index) => {
    const [, step, name = ""] = NAME.exec(each) ?? [];
    const cls = constructors[Number(step)];
    const collection = cls === undefined ? undefined : collectionsBeside(cls).get(name);
    if (types.isWeakMap(collection)) Reflect.apply(WeakMap.prototype.set, collection, [object, values[index]]);
    else if (types.isWeakSet(collection)) Reflect.apply(WeakSet.prototype.add, collection, [object]);
    else throw missing(owner, name);
  });
}

function missing(owner: object, name: string): Error {
  const title = isFunction(owner) ? owner.name : "a class";
  return new TypeError(
    `the sender keeps the state of an instance of ${title} in the variable "${name}", and the module of ${title} ` +
      "here has no WeakMap or WeakSet of that name. Install the same version of it, or send plain data.",
  );
}
