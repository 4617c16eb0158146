import { types } from "node:util";
import { afterCapture, asOneCapture } from "../engine/index.ts";
import {
  type ChangeCheck,
  isFunction,
  type PrivateState,
  revivedSource,
  ShippingError,
  type ShippingPolicy,
} from "../shipment/index.ts";
import { collectionAt, type Findings, findCollections, type Way, type Weak } from "../variables/index.ts";
import { isOverBudget } from "./capture-budget.ts";
import { previewOf } from "./dismantle.ts";
import { SharedExport } from "./references.ts";
import { functionsUsedBy } from "./weak-methods.ts";

/*
 * A module may keep the state of instances in its own `WeakMap`: that of its own classes, or of those of another module
 * that uses its functions. If the module travels by reference, the receiver's module has another `WeakMap`, so the entry
 * for an instance travels with the instance.
 */

const searched = new WeakMap<object, Findings>();
/** Findings that may be others later. They hold for one capture. */
const preliminary = new Map<object, Findings>();
/** Prototypes of objects without a weak collection that their classes could use: nearly all. */
const plain = new WeakSet<object>();

/** The weak collections that the code of a class can use. It may keep state of instances there. */
function collectionsOf(cls: object): Findings {
  const known = searched.get(cls) ?? preliminary.get(cls);
  if (known !== undefined) return known;
  return asOneCapture(() => {
    const findings = findCollections(cls);
    if (findings.isFinal) searched.set(cls, findings);
    else {
      if (preliminary.size === 0) afterCapture(() => preliminary.clear());
      preliminary.set(cls, findings);
    }
    return findings;
  });
}

/** The name of a collection: the number of steps from the owner's prototype to that of its class, then the way. */
const NAME = /^@(\d+) (.+)$/;

/** True for the name of a collection that a class uses; other names of private state are those of private fields. */
export function isWeakName(name: string): boolean {
  return NAME.test(name);
}

interface Held {
  /** The number of prototypes between the object and that of the class. */
  readonly step: number;
  readonly collection: Weak;
  readonly ways: readonly Way[];
}

/** The entries for an object in the collections that its classes can use. */
function heldEntries(object: object): readonly Held[] {
  const prototype = Reflect.getPrototypeOf(object);
  if (prototype === null || plain.has(prototype)) return [];
  const held: Held[] = [];
  let isPlain = true;
  let step = 0;
  for (const constructor of constructorsOf(object)) {
    if (constructor !== undefined) {
      const { collections, isFinal } = collectionsOf(constructor);
      if (collections.size > 0 || !isFinal) isPlain = false;
      for (const [collection, ways] of collections) {
        if (holds(collection, object)) held.push({ step, collection, ways });
      }
    }
    step += 1;
  }
  if (isPlain) plain.add(prototype);
  return held;
}

/**
 * What tells whether modules still keep nothing for an object: empty when they cannot keep anything. Undefined when they
 * do keep something.
 */
export function watchWeakState(object: object, policy: ShippingPolicy): readonly ChangeCheck[] | undefined {
  const collections = new Set<Weak>();
  let isFinal = true;
  const add = (fn: object | undefined): void => {
    const findings = fn === undefined ? undefined : collectionsOf(fn);
    if (findings?.isFinal === false) isFinal = false;
    for (const collection of findings?.collections.keys() ?? []) collections.add(collection);
  };
  const prototype = Reflect.getPrototypeOf(object);
  if (prototype !== null && !plain.has(prototype)) for (const constructor of constructorsOf(object)) add(constructor);
  for (const fn of functionsUsedBy(object, policy)) add(fn);
  if ([...collections].some((collection) => holds(collection, object))) return undefined;
  if (!isFinal) return [() => weakStateOf(object, policy).length === 0];
  if (collections.size === 0) return [];
  return [() => ![...collections].some((collection) => holds(collection, object))];
}

/**
 * The entries for an object in collections of modules that the receiver loads by itself; none for most objects. The
 * owner is a class of the object, or a function that its classes use.
 */
export function weakStateOf(object: object, policy: ShippingPolicy): PrivateState[] {
  const states = new Map<object, { names: string[]; values: unknown[] }>();
  const taken = new Set<Weak>();
  const take = (collection: Weak, owner: object, name: string): void => {
    taken.add(collection);
    const { names, values } = states.get(owner) ?? { names: [], values: [] };
    names.push(name);
    values.push(heldFor(collection, object));
    states.set(owner, { names, values });
  };
  const held = heldEntries(object);
  const anchor = held.length === 0 ? undefined : anchorOf(object, policy);
  for (const { step, collection, ways } of held) {
    const direct = ways[0]?.[0]?.rest;
    if (anchor !== undefined && step >= anchor.step) take(collection, anchor.owner, `@${step - anchor.step} ${direct}`);
    else {
      const found = firstReference(ways, policy) ?? ways.flat().find((each) => isReceivers(each, policy));
      if (found !== undefined) take(collection, found.fn, `@0 ${found.rest}`);
    }
  }
  for (const fn of functionsUsedBy(object, policy)) {
    for (const [collection, ways] of collectionsOf(fn).collections) {
      if (!taken.has(collection) && holds(collection, object)) take(collection, fn, `@0 ${ways[0]?.[0]?.rest}`);
    }
  }
  return [...states].map(([owner, { names, values }]) => ({ owner, names, values }));
}

/** The first function on a way to a collection that travels by reference, and with it the module of the collection. */
function firstReference(ways: readonly Way[], policy: ShippingPolicy): Way[number] | undefined {
  for (const way of ways) {
    const found = way.slice(1).find(({ fn }) => isByReference(fn, policy));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** True for a variable that a class captured, and that is the receiver's own there: its module is loaded by reference. */
function isReceivers({ fn, rest }: Way[number], policy: ShippingPolicy): boolean {
  return previewOf(fn, policy).captured.some(({ name, value }) => name === rest && value instanceof SharedExport);
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
    if (constructor !== undefined && isByReference(constructor, policy)) return { owner: constructor, step };
    step += 1;
  }
  return undefined;
}

function isByReference(fn: object, policy: ShippingPolicy): boolean {
  try {
    return previewOf(fn, policy).way === "reference";
  } catch (error) {
    // It is refused, with its place, when it has to travel itself.
    if (error instanceof ShippingError && !isOverBudget()) return false;
    throw error;
  }
}

/** Puts the entries for an object into the collections that its classes use here. */
export function restoreWeakState(object: object, { owner, names, values }: PrivateState): void {
  const prototype: unknown = Reflect.get(owner, "prototype");
  const start: object = Object.create(typeof prototype === "object" ? prototype : null);
  const constructors = [...constructorsOf(start)];
  names.forEach((each, index) => {
    const [, step, way = ""] = NAME.exec(each) ?? [];
    const fn = Number(step) === 0 ? owner : constructors[Number(step)];
    const collection = fn === undefined ? undefined : asOneCapture(() => collectionAt(fn, way));
    if (types.isWeakMap(collection)) Reflect.apply(WeakMap.prototype.set, collection, [object, values[index]]);
    else if (types.isWeakSet(collection)) Reflect.apply(WeakSet.prototype.add, collection, [object]);
    // A class that travelled has brought its collections.
    else if (revivedSource(owner) === undefined) throw missing(owner, way);
  });
}

function missing(owner: object, way: string): Error {
  const title = isFunction(owner) ? owner.name : "a class";
  return new TypeError(
    `the sender keeps the state of an instance of ${title} in the variable "${variableOf(way)}", and the module of ${title} ` +
      "here has no WeakMap or WeakSet of that name. Install the same version of it, or send plain data.",
  );
}

/** The name of the variable at the end of a way. */
function variableOf(way: string): string {
  return way.slice(way.lastIndexOf(">") + 1);
}
