import { intrinsicAt } from "../engine/index.ts";
import {
  type Assembled,
  adopt,
  applyIntegrity,
  BoundedMap,
  type CodeInstance,
  defineDescribed,
  describedKeys,
  identified,
  isOwnId,
  isRecord,
  noteConstructor,
  noteMembers,
  noteRevived,
  type PlainData,
  type PristineClass,
  revivedSource,
} from "../shipment/index.ts";
import { codeFactory } from "./code-store.ts";
import type { Definition } from "./compile-code.ts";

type Head = { readonly [key: string]: PlainData };

const DONE = (): void => {};

/** The original of a function that this process sent out, if it still exists, and if it comes back without objects. */
export function returning(head: Head): Assembled | undefined {
  if (head["isCopy"] === true) return undefined;
  const id = String(head["id"]);
  const original = isOwnId(id) ? identified(id) : undefined;
  return original === undefined ? undefined : { value: original, complete: DONE };
}

/** The id of a function at its origin; undefined for a copy of a function of this process, which is another function. */
export function foreignId(head: Head): string | undefined {
  const id = String(head["id"]);
  return isOwnId(id) ? undefined : id;
}

/** How a function arrives: functions in a call are copies, also in the process that made them. */
export interface Arrival {
  readonly isCall: boolean;
  /** It was captured by the code of the call, and not passed. */
  readonly isCaptured: boolean;
}

/** Makes a function from its code. */
export function assembleFunction(head: Head, { isCall, isCaptured }: Arrival): Assembled {
  const original = isCall ? undefined : returning(head);
  if (original !== undefined) return original;
  const existing = existingConstructor(head);
  if (existing !== undefined) {
    applyNameAndLength(existing.value, head);
    return { value: existing.value, complete: (parts) => fillFunction(existing, head, parts) };
  }
  const { factory, dependency, data } = codeFactory(String(head["code"]));
  const instance = factory(NO_DEFINITION);
  const { value, holder } = instance;
  if (head["constructs"] === true) {
    constructors.add(value);
    noteConstructor(value);
  }
  const id = foreignId(head);
  // Only functions that may make instances are looked up later.
  if (id !== undefined && Object.hasOwn(value, "prototype")) adopt(value, id);
  applyNameAndLength(value, head);
  const usesSuper = typeof head["home"] === "number" && holder !== undefined;
  noteRevived(value, {
    id,
    instance,
    kind: "function",
    code: dependency,
    captured: instance.read,
    labels: data.slots,
    early: [],
    pristine: undefined,
    hasHeritage: false,
    home: usesSuper ? () => Reflect.getPrototypeOf(holder) : undefined,
    index: undefined,
    privates: undefined,
    isPassed: isCall && !isCaptured,
  });
  return { value, complete: (parts) => fillFunction(instance, head, parts) };
}

const NO_DEFINITION: Definition = { superclass: undefined, keys: [] };

/**
 * Functions that make instances. Like classes, they are revived once, so that `instanceof` works for all of their
 * instances.
 */
const constructors = new WeakSet<object>();

/** The earlier instance of a function that makes instances, revived from the same code. */
function existingConstructor(head: Head): CodeInstance | undefined {
  const id = foreignId(head);
  const existing = id === undefined ? undefined : identified(id);
  if (existing === undefined || (head["constructs"] !== true && !constructors.has(existing))) return undefined;
  const source = revivedSource(existing);
  if (source?.code?.hash !== head["code"]) return undefined;
  constructors.add(existing);
  return source?.instance;
}

function fillFunction(instance: CodeInstance, head: Head, parts: readonly unknown[]): void {
  const { value, holder } = instance;
  instance.fill(parts);
  if (typeof head["home"] === "number" && holder !== undefined) setPrototype(holder, parts[head["home"]]);
  if (constructors.has(value)) {
    const { prototype } = head;
    takeBack(value, undefined, head["properties"], parts);
    // An assigned prototype belongs to another function, or is a separate value.
    const isOwn = !isRecord(prototype) || prototype["value"] === undefined;
    const properties = isRecord(prototype) ? prototype["properties"] : [];
    if (isOwn) takeBack(prototypeOf(value), undefined, properties, parts);
  }
  completeFunction(value, head, parts);
}

/** Gives a function the name and length that it has at its origin. */
export function applyNameAndLength(value: object, head: Head): void {
  for (const key of ["name", "length"]) {
    const label = head[key];
    if (label === null) Reflect.deleteProperty(value, key);
    else if (label !== undefined && Reflect.get(value, key) !== label) {
      Object.defineProperty(value, key, { value: label, configurable: true, writable: false, enumerable: false });
    }
  }
}

/** Gives a function the properties that it has at its origin. */
export function completeFunction(value: object, head: Head, parts: readonly unknown[]): void {
  if (typeof head["parent"] === "number") setPrototype(value, parts[head["parent"]]);
  defineDescribed(value, head["properties"], parts);
  const { prototype } = head;
  if (isRecord(prototype)) {
    if (typeof prototype["value"] === "number") Reflect.set(value, "prototype", parts[prototype["value"]]);
    else completePrototype(value, prototype, parts);
  }
  applyIntegrity(value, head["integrity"]);
}

function completePrototype(value: object, described: Head, parts: readonly unknown[]): void {
  const prototype: unknown = Reflect.get(value, "prototype");
  if (typeof prototype !== "object" || prototype === null) return;
  if (typeof described["parent"] === "number") setPrototype(prototype, parts[described["parent"]]);
  if (described["replaced"] === true) Reflect.deleteProperty(prototype, "constructor");
  defineDescribed(prototype, described["properties"], parts);
  applyIntegrity(prototype, described["integrity"]);
}

function setPrototype(value: object, parent: unknown): void {
  if (parent === null || typeof parent === "object" || typeof parent === "function") {
    Reflect.setPrototypeOf(value, parent);
  }
}

/**
 * Makes a class from its code. Each class is revived once in a process. If it exists already, only its static state is
 * updated, and at its origin not even that.
 */
export function assembleClass(head: Head, early: readonly unknown[]): Assembled {
  const original = returning(head);
  if (original !== undefined) return original;
  const id = String(head["id"]);
  const existing = identified(id);
  const filled = existing === undefined ? undefined : revivedSource(existing)?.instance;
  if (filled !== undefined) {
    applyNameAndLength(filled.value, head);
    return { value: filled.value, complete: (parts) => completeClass(filled, head, parts) };
  }
  const { factory, dependency, data } = codeFactory(String(head["code"]));
  const hasHeritage = head["hasHeritage"] === true;
  const instance = factory({ superclass: early[0], keys: hasHeritage ? early.slice(1) : early });
  const { value, privates } = instance;
  const pristine = pristineOf(value);
  adopt(value, id);
  noteMembers(value, true, pristine.statics);
  noteMembers(value, false, pristine.members);
  applyNameAndLength(value, head);
  noteRevived(value, {
    id,
    instance,
    kind: "class",
    code: dependency,
    captured: instance.read,
    labels: data.slots,
    early: [...early],
    pristine,
    hasHeritage,
    home: undefined,
    index: undefined,
    privates,
    isQuiet: head["isQuiet"] === true,
  });
  return { value, complete: (parts) => completeClass(instance, head, parts) };
}

const described = new WeakMap<object, ReadonlySet<string | symbol>>();

/** Removes the properties of a class or its prototype that an earlier description had and this one does not. */
function takeBack(
  holder: object,
  pristine: PristineClass["members"] | undefined,
  properties: PlainData | undefined,
  parts: readonly unknown[],
): void {
  const keys = new Set(describedKeys(properties, parts));
  for (const key of described.get(holder) ?? []) {
    if (keys.has(key)) continue;
    const original = pristine?.get(key);
    if (original === undefined) Reflect.deleteProperty(holder, key);
    else Reflect.defineProperty(holder, key, original);
  }
  described.set(holder, keys);
}

function completeClass(instance: CodeInstance, head: Head, parts: readonly unknown[]): void {
  const { value, privates } = instance;
  instance.fill(parts);
  const pristine = revivedSource(value)?.pristine;
  const { prototype } = head;
  takeBack(value, pristine?.statics, head["properties"], parts);
  takeBack(prototypeOf(value), pristine?.members, isRecord(prototype) ? prototype["properties"] : [], parts);
  for (const removed of Array.isArray(head["removed"]) ? head["removed"] : []) {
    if (!Array.isArray(removed)) continue;
    const holder: unknown = removed[0] === true ? value : Reflect.get(value, "prototype");
    if (typeof removed[1] === "string" && (typeof holder === "object" || typeof holder === "function")) {
      if (holder !== null) Reflect.deleteProperty(holder, removed[1]);
    }
  }
  completeFunction(value, head, parts);
  const { privateStatics } = head;
  if (Array.isArray(privateStatics)) {
    privates?.writeStatic(privateStatics.map((index) => (typeof index === "number" ? parts[index] : undefined)));
  }
}

/** A function that can only be made inside a class that was revived here. */
export function assembleInner(head: Head, early: readonly unknown[], { isCall, isCaptured }: Arrival): Assembled {
  const [cls] = early;
  const instance = typeof cls === "function" ? revivedSource(cls)?.instance : undefined;
  // Where its class was defined, only the class itself could make another one.
  const original = isCall && instance !== undefined ? undefined : returning(head);
  if (original !== undefined) return original;
  const index = typeof head["index"] === "number" ? head["index"] : -1;
  const make = instance?.inner[index];
  if (make === undefined) throw new TypeError("a function that uses private names came without its class");
  const [fill, read, value] = make();
  applyNameAndLength(value, head);
  noteRevived(value, {
    id: foreignId(head),
    instance: undefined,
    kind: "inner",
    code: undefined,
    captured: read,
    labels: [],
    early: [cls],
    pristine: undefined,
    hasHeritage: false,
    home: undefined,
    index,
    privates: undefined,
    isPassed: isCall && !isCaptured,
  });
  return {
    value,
    complete: (parts) => {
      fill(parts);
      completeFunction(value, head, parts);
    },
  };
}

/** A method or accessor that a class defines, as its body defined it when the class was revived here. */
export function assembleMember(head: Head, early: readonly unknown[]): Assembled {
  const [owner, symbol] = early;
  if (typeof owner !== "function") throw new TypeError("the class of a method is malformed");
  const key = typeof head["key"] === "string" ? head["key"] : symbol;
  if (typeof key !== "string" && typeof key !== "symbol") throw new TypeError("the name of a method is malformed");
  const isStatic = head["isStatic"] === true;
  const pristine = revivedSource(owner)?.pristine;
  const descriptor =
    pristine === undefined
      ? Reflect.getOwnPropertyDescriptor(isStatic ? owner : prototypeOf(owner), key)
      : (isStatic ? pristine.statics : pristine.members).get(key);
  const { role } = head;
  const member: unknown = descriptor?.[role === "get" || role === "set" ? role : "value"];
  if (typeof member !== "function") {
    throw new Error(`the class ${owner.name} has no method ${String(key)} here`);
  }
  return { value: member, complete: DONE };
}

function prototypeOf(cls: object): object {
  const prototype: unknown = Reflect.get(cls, "prototype");
  if (typeof prototype !== "object" || prototype === null) throw new TypeError("a class has no prototype");
  return prototype;
}

function pristineOf(cls: object): PristineClass {
  return { statics: descriptorsOf(cls), members: descriptorsOf(prototypeOf(cls)) };
}

function descriptorsOf(object: object): Map<string | symbol, PropertyDescriptor> {
  const descriptors = new Map<string | symbol, PropertyDescriptor>();
  for (const key of Reflect.ownKeys(object)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(object, key);
    if (descriptor !== undefined) descriptors.set(key, descriptor);
  }
  return descriptors;
}

const fallbacks = new BoundedMap<string, object>(1024);

/** A substitute for a class that this process has not loaded: it extends the nearest known ancestor and has the same name. */
export function fallbackClass(key: string, head: Head): object | undefined {
  const known = fallbacks.get(key);
  if (known !== undefined) return known;
  for (const path of Array.isArray(head["ancestors"]) ? head["ancestors"] : []) {
    const ancestor = typeof path === "string" ? intrinsicAt(path) : undefined;
    if (!isConstructor(ancestor)) continue;
    const fallback = class extends ancestor {};
    Object.defineProperty(fallback, "name", { value: head["name"], configurable: true });
    fallbacks.set(key, fallback);
    return fallback;
  }
  return undefined;
}

function isConstructor(value: unknown): value is new (...args: unknown[]) => object {
  return typeof value === "function" && "prototype" in value;
}
