import { isRecord } from "./code-data.ts";
import { codeFactory } from "./code-store.ts";
import { adopt, identified, isOwnId } from "./identity.ts";
import { intrinsicAt } from "./intrinsics.ts";
import { applyIntegrity, defineDescribed } from "./own-properties.ts";
import { noteRevived, type PristineClass } from "./revived.ts";
import type { Assembled, PlainData } from "./shipment.ts";

type Head = { readonly [key: string]: PlainData };

const DONE = (): void => {};

/** What this process sent out itself, when it comes back and still exists. */
export function returning(head: Head): Assembled | undefined {
  const id = String(head["id"]);
  const original = isOwnId(id) ? identified(id) : undefined;
  return original === undefined ? undefined : { value: original, complete: DONE };
}

/** Puts a function together from its code. */
export function assembleFunction(head: Head): Assembled {
  const original = returning(head);
  if (original !== undefined) return original;
  const { factory, dependency, data } = codeFactory(String(head["code"]));
  const instance = factory({ superclass: undefined, keys: [] });
  const { value } = instance;
  adopt(value, String(head["id"]));
  applyNameAndLength(value, head);
  noteRevived(value, {
    kind: "function",
    code: dependency,
    captured: instance.read,
    labels: data.slots,
    early: [],
    pristine: undefined,
    facts: { hasHeritage: false },
  });
  return {
    value,
    complete: (parts) => {
      instance.fill(parts);
      completeFunction(value, head, parts);
    },
  };
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
  defineDescribed(prototype, described["properties"], parts);
  applyIntegrity(prototype, described["integrity"]);
}

function setPrototype(value: object, parent: unknown): void {
  if (parent === null || typeof parent === "object" || typeof parent === "function") {
    Reflect.setPrototypeOf(value, parent);
  }
}

/**
 * Puts a class together from its code. Each class is revived once in a process: when it is here already only its
 * static state is brought up to date, and at its origin not even that.
 */
export function assembleClass(head: Head, early: readonly unknown[]): Assembled {
  const original = returning(head);
  if (original !== undefined) return original;
  const id = String(head["id"]);
  const existing = identified(id);
  const revived = existing === undefined ? undefined : fillers.get(existing);
  if (existing !== undefined && revived !== undefined) {
    return { value: existing, complete: (parts) => completeClass(existing, head, parts, revived) };
  }
  const { factory, dependency, data } = codeFactory(String(head["code"]));
  const hasHeritage = head["hasHeritage"] === true;
  const instance = factory({ superclass: early[0], keys: hasHeritage ? early.slice(1) : early });
  const { value } = instance;
  adopt(value, id);
  fillers.set(value, instance.fill);
  applyNameAndLength(value, head);
  noteRevived(value, {
    kind: "class",
    code: dependency,
    captured: instance.read,
    labels: data.slots,
    early: [...early],
    pristine: pristineOf(value),
    facts: { hasHeritage },
  });
  return { value, complete: (parts) => completeClass(value, head, parts, instance.fill) };
}

const fillers = new WeakMap<object, (values: readonly unknown[]) => void>();

function completeClass(
  value: object,
  head: Head,
  parts: readonly unknown[],
  fill: (values: readonly unknown[]) => void,
): void {
  fill(parts);
  for (const removed of Array.isArray(head["removed"]) ? head["removed"] : []) {
    if (!Array.isArray(removed)) continue;
    const holder: unknown = removed[0] === true ? value : Reflect.get(value, "prototype");
    if (typeof removed[1] === "string" && (typeof holder === "object" || typeof holder === "function")) {
      if (holder !== null) Reflect.deleteProperty(holder, removed[1]);
    }
  }
  completeFunction(value, head, parts);
}

function pristineOf(cls: object): PristineClass {
  const prototype: unknown = Reflect.get(cls, "prototype");
  return {
    statics: descriptorsOf(cls),
    members: typeof prototype === "object" && prototype !== null ? descriptorsOf(prototype) : new Map(),
  };
}

function descriptorsOf(object: object): Map<string | symbol, PropertyDescriptor> {
  const descriptors = new Map<string | symbol, PropertyDescriptor>();
  for (const key of Reflect.ownKeys(object)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(object, key);
    if (descriptor !== undefined) descriptors.set(key, descriptor);
  }
  return descriptors;
}

const fallbacks = new Map<string, object>();

/** Stands for a class that this process has not loaded: its nearest ancestor that is known here, under its own name. */
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
