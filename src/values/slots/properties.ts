import { MalformedPayload } from "../bytes/index.ts";
import { writeFunction } from "../function-nodes.ts";
import type { GraphReader, GraphWriter } from "../graph/index.ts";
import { ownProperty, type Property } from "../own-property.ts";
import { isEngineStack, setEngineStack } from "./engine-stack.ts";
import { FROZEN, SEALED } from "./integrity.ts";

const ENUMERABLE = 1;
const CONFIGURABLE = 2;
const WRITABLE = 4;
const ACCESSOR = 8;
const ENGINE_STACK = 16;
const PLAIN = ENUMERABLE | CONFIGURABLE | WRITABLE;

/** A property with its key. */
export interface KeyedProperty {
  readonly key: string | symbol;
  readonly property: Property;
}

/** Attributes of a property, without those that follow from the object being sealed or frozen. */
function attributesOf(property: Property, integrity: number): number {
  const accessor = "get" in property || "set" in property;
  let attributes = accessor ? ACCESSOR : 0;
  if (property.enumerable === true) attributes |= ENUMERABLE;
  if (property.configurable === true || integrity >= SEALED) attributes |= CONFIGURABLE;
  if (!accessor && (property.writable === true || integrity === FROZEN)) attributes |= WRITABLE;
  return attributes;
}

/** True when a property is like one made by assignment, except that its object is sealed or frozen. */
export function isOpenProperty(property: Property, integrity: number): boolean {
  return attributesOf(property, integrity) === PLAIN;
}

/** Writes own properties with their attributes; accessors as such, without running them. */
export function writeProperties(
  writer: GraphWriter,
  object: object,
  properties: readonly KeyedProperty[],
  integrity: number,
): void {
  writer.varint(properties.length);
  if (properties.some(({ property }) => typeof property.value === "function")) {
    writer.port.foresee?.(properties.map(({ property }) => property.value));
  }
  for (const { key, property } of properties) {
    const attributes = attributesOf(property, integrity);
    writer.value(key);
    if (isEngineStack(property)) {
      // The accessor is the engine's own: its value travels.
      writer.byte(attributes | ENGINE_STACK);
      writer.value(Reflect.get(object, "stack"));
      continue;
    }
    writer.byte(attributes);
    if ((attributes & ACCESSOR) === 0) {
      writeHeld(writer, property.value, object);
    } else {
      writeHeld(writer, property.get, object);
      writeHeld(writer, property.set, object);
    }
  }
}

/** A function that is a property may need its object, for `super`. */
function writeHeld(writer: GraphWriter, value: unknown, holder: object): void {
  if (typeof value === "function") writeFunction(writer, value, holder);
  else writer.value(value);
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
    const enumerable = (attributes & ENUMERABLE) !== 0;
    const configurable = (attributes & CONFIGURABLE) !== 0;
    if ((attributes & ENGINE_STACK) !== 0) {
      if (key !== "stack") throw new MalformedPayload("only a property called stack can hold a stack");
      setEngineStack(object, reader.value());
      define(object, key, { enumerable, configurable });
      continue;
    }
    if ((attributes & ACCESSOR) !== 0) {
      define(object, key, { ...readAccessor(reader), enumerable, configurable });
      continue;
    }
    const data = { value: reader.value(), writable: (attributes & WRITABLE) !== 0 };
    // Some built-in properties exist from the start, and only their value can change.
    const isFixed = ownProperty(object, key)?.configurable === false;
    define(object, key, isFixed ? data : { ...data, enumerable, configurable });
  }
}

function define(object: object, key: string | symbol, property: object): void {
  try {
    Object.defineProperty(object, key, property);
  } catch (error) {
    throw new MalformedPayload(`the payload has a property ${String(key)} that its object cannot have`, {
      cause: error,
    });
  }
}

function readKey(reader: GraphReader): string | symbol {
  const key = reader.key() ?? reader.value();
  if (typeof key !== "string" && typeof key !== "symbol") {
    throw new MalformedPayload("the key of a property in the payload is neither a string nor a symbol");
  }
  return key;
}

function readAccessor(reader: GraphReader): object {
  return { get: readAccessorFunction(reader), set: readAccessorFunction(reader) };
}

function readAccessorFunction(reader: GraphReader): (() => unknown) | undefined {
  const fn = reader.value();
  if (fn === undefined || isCallable(fn)) return fn;
  throw new MalformedPayload("an accessor in the payload is not a function");
}

function isCallable(value: unknown): value is () => unknown {
  return typeof value === "function";
}
