import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import { INLINE_DEPTH, MalformedPayload, SPECIAL_OBJECT } from "../bytes/index.ts";
import { heldBy, NotData, orRefuse, writeCell, writeReference, writeTraveller } from "../function-nodes.ts";
import type { KeptPlace, PrivateState } from "../function-port.ts";
import { constructorOf, ownProperty } from "../own-property.ts";
import { refuseHiddenState } from "../refusals/index.ts";
import {
  close,
  EXTENSIBLE,
  errorState,
  type InternalState,
  integrityCode,
  internalStateNumbered,
  internalStateOf,
  isOpenProperty,
  type KeyedProperty,
  keepName,
  ordinaryState,
  readProperties,
  travellingPrototype,
  writeProperties,
} from "../slots/index.ts";
import { ValueRefusal } from "../value-refusal.ts";
import { isGuard } from "./frozen-values.ts";
import type { GraphReader } from "./graph-reader.ts";
import type { GraphWriter } from "./graph-writer.ts";
import { isUnique } from "./symbols.ts";

/** The low bits describe the prototype; 0 means the default one of such an object. */
const PROTOTYPE_NULL = 1;
const PROTOTYPE_OF_CLASS = 2;
const PROTOTYPE_VALUE = 3;
const PROTOTYPE_MASK = 3;
const LATER = 4;
const HAS_PROPERTIES = 8;
const HAS_PRIVATES = 16;
const INTEGRITY_SHIFT = 5;
const INTEGRITY_MASK = 3;
/** Its class or its package keeps it: the receiver uses its own. */
const KEPT = 128;

const NO_PRIVATES: readonly PrivateState[] = [];

/** Writes any object that is more than a plain array or a plain object of data. */
export function writeSpecialObject(writer: GraphWriter, value: object, prototype: object | null): void {
  if (writeTraveller(writer, value)) return;
  const state = internalStateOf(value);
  const known = prototype === null ? null : (state.publicPrototype?.(prototype) ?? prototype);
  const shown = state === errorState ? travellingPrototype(writer.port, known) : known;
  const variant = state.variant(value, shown, writer);
  const isDefault = shown === state.prototype(variant);
  const integrity = integrityCode(value);
  const properties = writtenProperties(writer, value, state);
  if (shown !== known) keepName(properties, known);
  if (state === ordinaryState || !isDefault) {
    if (writeCell(writer, value)) return;
    if (mayBeNamed(properties) || (!isDefault && prototype !== null && !writer.isUnnamed(prototype))) {
      if (writeReference(writer, value)) return;
      writer.addUnnamed(prototype);
    }
    if (state === ordinaryState) refuseHiddenState(value);
  }
  const origin = isDefault || shown === null ? undefined : (constructorOf(shown) ?? namedMaker(writer, value, shown));
  if (!isDefault) refuseForeignSymbols(writer, value, properties);
  const mayHavePrivates = !isDefault || (state === ordinaryState && hasMethods(properties));
  const privates = mayHavePrivates ? orRefuse(value, () => writer.port.privatesOf(value)) : NO_PRIVATES;

  const found =
    state === ordinaryState && origin !== undefined && privates.length === 0
      ? orRefuse(value, () => writer.port.keptPlaceOf?.(value, origin))
      : undefined;
  const isEntry = found?.place === "entry";
  const kept = isEntry && !isValueObject(properties, integrity) ? undefined : found;

  let flags = integrity << INTEGRITY_SHIFT;
  if (kept !== undefined) flags |= KEPT;
  if (shown === null) flags |= PROTOTYPE_NULL;
  else if (origin !== undefined) flags |= PROTOTYPE_OF_CLASS;
  else if (!isDefault) flags |= PROTOTYPE_VALUE;
  if (properties.length > 0 && (kept === undefined || !isEntry)) flags |= HAS_PROPERTIES;
  if (privates.length > 0) flags |= HAS_PRIVATES;
  const later = writer.depth >= INLINE_DEPTH;
  if (later) flags |= LATER;

  writer.byte(SPECIAL_OBJECT);
  writer.byte(state.number);
  writer.byte(variant);
  writer.byte(flags);
  if (origin !== undefined) {
    writer.port.noteConstructor(origin);
    writer.enter(value);
    try {
      writer.value(origin);
    } catch (error) {
      throw heldBy(value, error);
    }
    writer.leave();
  }
  if (kept !== undefined) writeKept(writer, kept, properties);
  state.writeShell(writer, value);
  writer.remember(value);
  const companion = state.companion?.(value, variant);
  if (companion !== undefined) writer.remember(companion);

  const body = (): void => {
    if (shown !== null && (flags & PROTOTYPE_MASK) === PROTOTYPE_VALUE) {
      writer.port.notePrototype(shown);
      if (!writeNamed(writer, shown)) writer.value(shown);
    }
    state.writeBody?.(writer, value);
    if ((flags & HAS_PROPERTIES) !== 0) writeProperties(writer, value, properties, integrity);
    if (privates.length > 0) writePrivates(writer, privates);
  };
  if (later) {
    writer.defer(body);
    return;
  }
  writer.depth++;
  body();
  writer.depth--;
}

/** Writes the prototype that a package assigned to a function, by its name; false when it has no name. */
function writeNamed(writer: GraphWriter, prototype: object): boolean {
  return internalStateOf(prototype) !== ordinaryState && (writer.refer(prototype) || writeReference(writer, prototype));
}

/**
 * The function that an instance, but not its prototype, has as `constructor`. Only if the function's prototype exists
 * as soon as the function does: the receiver has it by itself, or it is filled in place.
 */
function namedMaker(writer: GraphWriter, value: object, prototype: object): object | undefined {
  const maker = ownProperty(value, "constructor")?.value;
  if (typeof maker !== "function" || ownProperty(maker, "prototype")?.value !== prototype) return undefined;
  const { head } = orRefuse(maker, () => writer.port.dismantle(maker));
  if (typeof head !== "object" || head === null || !("kind" in head)) return undefined;
  const isInPlace = isReplacing("prototype" in head ? head.prototype : undefined);
  return NAMED_KINDS.has(head.kind) || isInPlace ? maker : undefined;
}

function isReplacing(prototype: unknown): boolean {
  return typeof prototype === "object" && prototype !== null && "replaced" in prototype;
}

const NAMED_KINDS: ReadonlySet<unknown> = new Set(["module", "builtin", "intrinsic", "runtime", "returning"]);

/** Reads a special object whose tag has been read. */
export function readSpecialObject(reader: GraphReader): object {
  const state = internalStateNumbered(reader.byte());
  if (state === undefined) throw new MalformedPayload("the payload holds an object of an unknown kind");
  const variant = reader.byte();
  if (state.prototype(variant) === undefined) {
    throw new MalformedPayload("the payload holds a built-in object that this version of Node.js does not have");
  }
  const flags = reader.byte();
  // Only the object itself may be accepted as a prototype, not its contents.
  reader.takesClass = false;
  reader.enter();
  const object = readShell(reader, state, variant, flags);
  reader.remember(object);
  const companion = state.companion?.(object, variant);
  if (companion !== undefined) reader.remember(companion);
  // An object that existed before the payload is not changed.
  const isKept = reader.isKept(object);
  const body = (): void => {
    const target = isKept ? {} : object;
    if ((flags & PROTOTYPE_MASK) === PROTOTYPE_VALUE) setPrototype(target, readPrototype(reader));
    state.readBody?.(reader, object, variant);
    if ((flags & HAS_PROPERTIES) !== 0) readProperties(reader, target);
    const privates = (flags & HAS_PRIVATES) === 0 ? [] : readPrivates(reader);
    if (privates.length > 0 && !isKept) reader.restoreLater(object, privates);
  };
  if ((flags & LATER) === 0) body();
  else reader.defer(body);
  reader.leave();
  const integrity = (flags >> INTEGRITY_SHIFT) & INTEGRITY_MASK;
  if (integrity !== EXTENSIBLE && !isKept) reader.settleLater(() => close(object, integrity));
  return object;
}

function readShell(reader: GraphReader, state: InternalState, variant: number, flags: number): object {
  const kind = flags & PROTOTYPE_MASK;
  if (kind === PROTOTYPE_OF_CLASS) {
    const origin = reader.classNext();
    const prototype = prototypeOfClass(origin);
    const made = (flags & HAS_PRIVATES) === 0 ? undefined : constructReturning(reader, origin);
    const kept = (flags & KEPT) === 0 ? undefined : readKept(reader, origin, prototype);
    if (kept !== undefined) return kept;
    if (made !== undefined && state.is(made) && internalStateOf(made) === state) {
      state.readShell(reader, variant);
      return made;
    }
    if (state === ordinaryState) return Object.create(prototype);
    return setPrototype(state.readShell(reader, variant), prototype);
  }
  const object = state.readShell(reader, variant);
  return kind === PROTOTYPE_NULL ? setPrototype(object, null) : object;
}

/** True for an object with nothing under its names but primitive values, and objects that have nothing else. */
function isValueObject(properties: readonly KeyedProperty[], integrity: number): boolean {
  return properties.every(
    ({ key, property }) =>
      typeof key === "string" &&
      key !== "__proto__" &&
      isOpenProperty(property, integrity) &&
      (!isObject(property.value) || hasOnlyPrimitives(property.value)),
  );
}

function hasOnlyPrimitives(value: object): boolean {
  if (typeof value === "function" || types.isProxy(value) || internalStateOf(value) !== ordinaryState) return false;
  return Reflect.ownKeys(value).every((key) => {
    const property = ownProperty(value, key);
    return typeof key === "string" && property !== undefined && "value" in property && !isObject(property.value);
  });
}

/** Writes where an object is kept. The fields of an entry come with that, those of other objects in the usual way. */
function writeKept(writer: GraphWriter, kept: KeptPlace, fields: readonly KeyedProperty[]): void {
  writer.string(kept.place);
  writer.string(kept.name);
  if (kept.place !== "entry") {
    writer.string(kept.digest);
    return;
  }
  writer.value(kept.key);
  writer.varint(fields.length);
  for (const { key: field, property } of fields) {
    writer.string(String(field));
    writer.value(property.value);
  }
}

/** Reads an object that is kept: the one that this process has, or a copy. */
function readKept(reader: GraphReader, origin: unknown, prototype: object): object {
  const place = reader.text();
  const name = reader.text();
  const cls = typeof origin === "function" ? origin : undefined;
  if (place === "static" || place === "export") {
    const kept: KeptPlace = { place, name, key: undefined, digest: reader.text() };
    const own = cls === undefined ? undefined : reader.port.keptObjectAt?.(cls, kept);
    if (own !== undefined) reader.keep(own);
    return own ?? Object.create(prototype);
  }
  const kept: KeptPlace = { place: "entry", name, key: reader.value(), digest: "" };
  const fields = new Map<string, unknown>();
  for (let left = reader.count(2); left > 0; left--) fields.set(reader.text(), reader.value());
  const own = cls === undefined ? undefined : reader.port.keptEntryAt?.(cls, kept, fields);
  if (own !== undefined) {
    reader.keep(own);
    return own;
  }
  const copy: object = Object.create(prototype);
  for (const [field, value] of fields) {
    Object.defineProperty(copy, field, { value, writable: true, enumerable: true, configurable: true });
  }
  return copy;
}

/** Where its class was defined, only its constructor can give an object its private names. */
function constructReturning(reader: GraphReader, origin: unknown): object | undefined {
  return typeof origin === "function" ? reader.port.constructReturning?.(origin) : undefined;
}

/**
 * Reads the prototype of an object. With `dataOnly` it may be plain data or the prototype of a class that is known
 * here, and nothing else of this process.
 */
function readPrototype(reader: GraphReader): unknown {
  const prototype = reader.classNext();
  if (!reader.isClass(prototype) || isPrototype(prototype)) return prototype;
  throw new NotData(`inherits from ${typeof prototype === "function" ? "a function" : "an object of this process"}`);
}

function isPrototype(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const maker: unknown = Object.getOwnPropertyDescriptor(value, "constructor")?.value;
  return typeof maker === "function" && Object.getOwnPropertyDescriptor(maker, "prototype")?.value === value;
}

function setPrototype(object: object, prototype: unknown): object {
  if (typeof prototype !== "object" && typeof prototype !== "function") {
    throw new MalformedPayload("the prototype of an object in the payload is not an object");
  }
  if (!Reflect.setPrototypeOf(object, prototype)) {
    throw new MalformedPayload("the prototypes of objects in the payload form a circle");
  }
  return object;
}

function prototypeOfClass(origin: unknown): object {
  if (typeof origin === "function") {
    const prototype: unknown = origin.prototype;
    // The prototype of Function is a function itself.
    if ((typeof prototype === "object" && prototype !== null) || typeof prototype === "function") return prototype;
  }
  throw new MalformedPayload("the class of an object in the payload is not a class");
}

function writtenProperties(writer: GraphWriter, value: object, state: InternalState): KeyedProperty[] {
  if (state.hasOnlyState?.(value) === true) return [];
  const { omissions } = writer;
  const properties: KeyedProperty[] = [];
  for (const key of Reflect.ownKeys(value)) {
    const property = ownProperty(value, key);
    if (property === undefined || state.implies?.(value, key, property) === true) continue;
    if (omissions?.has(value, key) === true || isGuard(property)) continue;
    properties.push({ key, property: state.present?.(writer.port, value, key, property) ?? property });
  }
  const addition = omissions?.additionTo(value);
  if (addition === undefined) return properties;
  return [...properties.filter(({ key }) => key !== addition.key), addition];
}

/** Functions of an object may use state that a module keeps for it. */
function hasMethods(properties: readonly KeyedProperty[]): boolean {
  return properties.some(({ property }) => "get" in property || typeof property.value === "function");
}

/**
 * Finding out whether an object has a name is not cheap. An object with only data has none, unless its class is the
 * platform's or a package's; then the first instance of that class in a payload answers for all.
 */
function mayBeNamed(properties: readonly KeyedProperty[]): boolean {
  return hasMethods(properties) || properties.some(({ key }) => key === Symbol.toStringTag);
}

function refuseForeignSymbols(writer: GraphWriter, value: object, properties: readonly KeyedProperty[]): void {
  for (const { key } of properties) {
    if (typeof key !== "symbol" || !isUnique(writer.port, key)) continue;
    try {
      orRefuse(value, () => writer.port.refuseSymbol(value, key));
    } catch (error) {
      if (error instanceof ValueRefusal) error.key = key;
      throw error;
    }
  }
}

function writePrivates(writer: GraphWriter, states: readonly PrivateState[]): void {
  writer.varint(states.length);
  for (const state of states) {
    writer.value(state.owner);
    writer.varint(state.names.length);
    for (const [index, name] of state.names.entries()) {
      writer.string(name);
      writer.value(state.values[index]);
    }
  }
}

function readPrivates(reader: GraphReader): PrivateState[] {
  const count = reader.count(2);
  const states: PrivateState[] = [];
  for (let index = 0; index < count; index++) {
    const owner = reader.classNext();
    if (typeof owner !== "function") throw new MalformedPayload("private fields in the payload belong to no class");
    const names: string[] = [];
    const values: unknown[] = [];
    for (let left = reader.count(2); left > 0; left--) {
      names.push(reader.text());
      values.push(reader.value());
    }
    states.push({ owner, names, values });
  }
  return states;
}
