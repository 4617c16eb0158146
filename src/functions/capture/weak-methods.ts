import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import { afterCapture } from "../engine/index.ts";
import { memberOf } from "../modules/index.ts";
import {
  Cell,
  isFunction,
  revivedSource,
  ShippingError,
  type ShippingPolicy,
  sourceTextOf,
} from "../shipment/index.ts";
import { isOverBudget } from "./capture-budget.ts";
import { type DismantledWithReason, foresee, previewOf } from "./dismantle.ts";
import { Borrowed, SharedExport } from "./references.ts";

/*
 * An object may have methods of its own, such as closures that a function of a module made. Where they use functions
 * that travel by reference, those find what their module keeps for the object only in the receiver's module.
 */

const NONE: ReadonlySet<object> = new Set();
/** The functions that travel by reference and that code uses which travels by value. They hold for one capture. */
const used = new Map<object, ReadonlySet<object>>();
/** How many functions that travel by value may be on the way. */
const MAX_DEPTH = 2;

/** The functions that travel by reference, among the own methods of an object and the functions that these use. */
export function functionsUsedBy(object: object, policy: ShippingPolicy): ReadonlySet<object> {
  // The elements of a typed array would all be listed.
  if (typeof object === "function" || types.isProxy(object) || types.isTypedArray(object)) return NONE;
  const methods = methodsOf(object);
  if (methods.length === 0) return NONE;
  if (methods.length > 1) foresee(methods);
  const found = new Set<object>();
  for (const method of methods) for (const fn of referencesIn(method, policy, MAX_DEPTH)) found.add(fn);
  return found;
}

function methodsOf(object: object): object[] {
  const methods: object[] = [];
  for (const key of Reflect.ownKeys(object)) {
    const { value, get, set }: PropertyDescriptor = Reflect.getOwnPropertyDescriptor(object, key) ?? {};
    for (const method of [value, get, set]) if (isFunction(method)) methods.push(method);
  }
  return methods;
}

function referencesIn(fn: object, policy: ShippingPolicy, depth: number): ReadonlySet<object> {
  const known = used.get(fn);
  if (known !== undefined) return known;
  const taken = takenApart(fn, policy);
  if (taken === undefined) return NONE;
  if (taken.way === "reference") return new Set([fn]);
  if (depth === 0) return NONE;
  const text = sourceTextOf(fn);
  const found = new Set<object>();
  // A function that was sent here is taken apart no further.
  const captured = revivedSource(fn)?.captured() ?? taken.captured.map(({ value }) => value);
  for (const value of captured) {
    for (const each of functionsIn(value, text)) {
      for (const reference of referencesIn(each, policy, depth - 1)) found.add(reference);
    }
  }
  // Found with less depth, it may lack something.
  if (depth === MAX_DEPTH) {
    if (used.size === 0) afterCapture(() => used.clear());
    used.set(fn, found);
  }
  return found;
}

function takenApart(fn: object, policy: ShippingPolicy): DismantledWithReason | undefined {
  try {
    return previewOf(fn, policy);
  } catch (error) {
    // It is refused, with its place, when it has to travel itself.
    if (error instanceof ShippingError && !isOverBudget()) return undefined;
    throw error;
  }
}

/** The functions among the members of objects that a text mentions. They hold for one capture. */
const mentioned = new Map<object, Map<string, readonly object[]>>();

/** The objects whose members the capture under way has looked at. */
export function examinedMembers(): object[] {
  // The exports of a module may not be initialised yet.
  return [...mentioned.keys()].filter((object) => !types.isModuleNamespaceObject(object));
}

/** A captured function, or those of a captured module that the code mentions. */
function functionsIn(captured: unknown, text: string): readonly object[] {
  const value = contentOf(captured);
  if (isFunction(value)) return [value];
  if (!isObject(value) || types.isProxy(value)) return [];
  // An object of mathjs has hundreds of accessors with the same text, which captured it: a fifth of the time.
  const known = mentioned.get(value) ?? new Map<string, readonly object[]>();
  const found = known.get(text) ?? membersIn(value, text);
  if (mentioned.size === 0) afterCapture(() => mentioned.clear());
  mentioned.set(value, known.set(text, found));
  return found;
}

function membersIn(value: object, text: string): object[] {
  const names = Object.getOwnPropertyNames(value).filter((key) => text.includes(key));
  return names.map((key) => memberOf(value, key)).filter(isFunction);
}

function contentOf(captured: unknown): unknown {
  if (captured instanceof Cell) return captured.v;
  return captured instanceof Borrowed || captured instanceof SharedExport ? captured.value : captured;
}
