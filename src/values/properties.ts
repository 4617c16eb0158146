import { types } from "node:util";
import type { GraphReader } from "./graph-reader.ts";
import type { GraphWriter } from "./graph-writer.ts";
import { EXTENSIBLE, FROZEN, SEALED } from "./integrity.ts";
import { MalformedPayload } from "./malformed-payload.ts";

const ENUMERABLE = 1;
const CONFIGURABLE = 2;
const WRITABLE = 4;
const ACCESSOR = 8;
const PLAIN = ENUMERABLE | CONFIGURABLE | WRITABLE;

/** An own property as it travels: some versions of V8 show an error's stack as an accessor, which here is data. */
export function ownProperty(object: object, key: string | symbol): PropertyDescriptor {
  const property = Object.getOwnPropertyDescriptor(object, key) ?? {};
  if (key === "stack" && property.get !== undefined && types.isNativeError(object) && isNativeCode(property.get)) {
    return { value: object.stack, writable: true, enumerable: false, configurable: property.configurable ?? true };
  }
  return property;
}

/** True for functions that are not written in JavaScript. */
export function isNativeCode(fn: object): boolean {
  return typeof fn === "function" && Function.prototype.toString.call(fn).endsWith("{ [native code] }");
}

/** Attributes of a property, without those that follow from the object being sealed or frozen. */
function attributesOf(property: PropertyDescriptor, integrity: number): number {
  const accessor = "get" in property || "set" in property;
  let attributes = accessor ? ACCESSOR : 0;
  if (property.enumerable === true) attributes |= ENUMERABLE;
  if (property.configurable === true || integrity >= SEALED) attributes |= CONFIGURABLE;
  if (!accessor && (property.writable === true || integrity === FROZEN)) attributes |= WRITABLE;
  return attributes;
}

/** True when nothing but the object being sealed or frozen sets a property apart from one made by assignment. */
export function isOpenProperty(property: PropertyDescriptor, integrity: number): boolean {
  return attributesOf(property, integrity) === PLAIN;
}

/** Writes own properties with their attributes; accessors as such, without running them. */
export function writeProperties(
  writer: GraphWriter,
  object: object,
  keys: readonly (string | symbol)[],
  integrity: number = EXTENSIBLE,
): void {
  writer.varint(keys.length);
  for (const key of keys) {
    const property = ownProperty(object, key);
    const attributes = attributesOf(property, integrity);
    writer.value(key);
    writer.byte(attributes);
    if ((attributes & ACCESSOR) === 0) {
      writer.value(property.value);
    } else {
      writer.value(property.get);
      writer.value(property.set);
    }
  }
}

/** Reads own properties and defines them on `object`. */
export function readProperties(reader: GraphReader, object: object): void {
  const count = reader.count(3);
  for (let index = 0; index < count; index++) {
    const key = readKey(reader);
    const attributes = reader.byte();
    if (attributes === PLAIN && !(key in object)) {
      Reflect.set(object, key, reader.value());
      continue;
    }
    const accessor = (attributes & ACCESSOR) !== 0;
    define(object, key, {
      ...(accessor ? readAccessor(reader) : { value: reader.value(), writable: (attributes & WRITABLE) !== 0 }),
      enumerable: (attributes & ENUMERABLE) !== 0,
      configurable: (attributes & CONFIGURABLE) !== 0,
    });
  }
}

function define(object: object, key: string | symbol, property: object): void {
  try {
    Object.defineProperty(object, key, property);
  } catch (error) {
    throw new MalformedPayload(`The payload has a property ${String(key)} that its object cannot have.`, {
      cause: error,
    });
  }
}

function readKey(reader: GraphReader): string | symbol {
  const key = reader.key() ?? reader.value();
  if (typeof key !== "string" && typeof key !== "symbol") {
    throw new MalformedPayload("A property in the payload is named by something other than a string or symbol.");
  }
  return key;
}

function readAccessor(reader: GraphReader): object {
  return { get: readAccessorFunction(reader), set: readAccessorFunction(reader) };
}

function readAccessorFunction(reader: GraphReader): (() => unknown) | undefined {
  const fn = reader.value();
  if (fn === undefined || isCallable(fn)) return fn;
  throw new MalformedPayload("An accessor in the payload is not a function.");
}

function isCallable(value: unknown): value is () => unknown {
  return typeof value === "function";
}
