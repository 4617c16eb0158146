import { types } from "node:util";
import { intrinsicPathOf } from "../engine/index.ts";
import { contentHash, sourceTextOf } from "../shipment/index.ts";
import { builtinPlaceOf } from "./builtin-modules.ts";

/** Larger values are not constants. */
const MOST_PARTS = 1000;

/**
 * A short hash of an object and of everything that it leads to: the same for an object of another process that has the
 * same contents. Functions count by their source. Undefined when something in it cannot be compared, or when it is large.
 */
export function digestOf(object: object): string | undefined {
  const digest = new Digest();
  digest.add(object);
  return digest.isComplete ? contentHash(digest.text.join("\n")).slice(0, 16) : undefined;
}

/** True for an object that leads to primitive values and objects of fields only, and to no collection. */
export function hasOnlyFields(object: object, seen = new Set<object>()): boolean {
  if (seen.has(object)) return true;
  seen.add(object);
  if (seen.size > MOST_PARTS || typeof object === "function" || hasOwnState(object)) return false;
  return Reflect.ownKeys(object).every((key) => {
    const value: unknown = Reflect.getOwnPropertyDescriptor(object, key)?.value;
    return typeof value === "object" && value !== null ? hasOnlyFields(value, seen) : typeof value !== "function";
  });
}

class Digest {
  readonly text: string[] = [];
  isComplete = true;
  readonly #seen = new Map<object, number>();

  add(value: unknown): void {
    if (!this.isComplete) return;
    if (typeof value === "symbol") this.text.push(String(value));
    else if ((typeof value !== "object" && typeof value !== "function") || value === null) this.text.push(show(value));
    else this.#addObject(value);
  }

  #addObject(value: object): void {
    const known = this.#seen.get(value);
    if (known !== undefined) {
      this.text.push(`^${known}`);
      return;
    }
    this.#seen.set(value, this.#seen.size);
    if (this.#seen.size > MOST_PARTS || types.isProxy(value)) this.isComplete = false;
    else if (typeof value === "function") this.text.push(`function ${sourceTextOf(value)}`);
    else {
      this.text.push(`${nameOfClass(value)} ${integrityOf(value)}`);
      this.#addState(value);
      for (const key of Reflect.ownKeys(value)) this.#addProperty(value, key);
      this.text.push("end");
    }
  }

  /** What an object has besides its properties. */
  #addState(value: object): void {
    if (types.isMap(value))
      for (const entry of Map.prototype.entries.call(value)) entry.forEach((each) => this.add(each));
    else if (types.isSet(value)) for (const entry of Set.prototype.values.call(value)) this.add(entry);
    else if (types.isDate(value)) this.add(Date.prototype.getTime.call(value));
    else if (types.isRegExp(value)) this.add(String(value));
    else if (hasOwnState(value) && !Array.isArray(value)) this.isComplete = false;
  }

  #addProperty(object: object, key: string | symbol): void {
    const { value, get, set } = Reflect.getOwnPropertyDescriptor(object, key) ?? {};
    this.text.push(String(key));
    for (const each of [value, get, set]) this.add(each);
  }
}

/** True for an object of the language or of Node.js that has more than fields, and for an array. */
function hasOwnState(value: object): boolean {
  if (types.isProxy(value) || types.isNativeError(value) || types.isBoxedPrimitive(value)) return true;
  for (let prototype = Reflect.getPrototypeOf(value); prototype !== null; ) {
    const maker: unknown = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof maker === "function" && maker !== Object) {
      if (intrinsicPathOf(maker) !== undefined || builtinPlaceOf(maker) !== undefined) return true;
    }
    prototype = Reflect.getPrototypeOf(prototype);
  }
  return false;
}

function show(value: unknown): string {
  return typeof value === "string"
    ? JSON.stringify(value)
    : `${typeof value} ${Object.is(value, -0) ? "-0" : String(value)}`;
}

function nameOfClass(value: object): string {
  const prototype = Reflect.getPrototypeOf(value);
  if (prototype === null) return "null";
  const cls: unknown = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  return typeof cls === "function" ? String(Reflect.getOwnPropertyDescriptor(cls, "name")?.value) : "object";
}

function integrityOf(value: object): string {
  if (Object.isFrozen(value)) return "frozen";
  return Object.isExtensible(value) ? "" : "closed";
}
