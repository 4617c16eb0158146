import {
  intrinsicPathOf,
  type PrivateField,
  privateMembersAt,
  scriptOf,
  siteAt,
  viewFunction,
  viewPrivates,
} from "../engine/index.ts";
import { keepsPrivatesApart } from "../modules/index.ts";
import {
  identityOf,
  isClass,
  isFunction,
  overridesVersion,
  type PrivateAccess,
  type PrivateState,
  processId,
  revivedSource,
  runtimeNameOf,
  ShippingError,
  type ShippingPolicy,
  sourceTextOf,
} from "../shipment/index.ts";
import { constructQuietly, type PrivateWriter, privateWriterOf } from "../variables/index.ts";
import { dismantleWithReason } from "./dismantle.ts";
import { isWeakName, restoreWeakState, weakStateOf } from "./weak-state.ts";

/** The private members that a class declares for its instances. */
interface PrivateDeclarations {
  readonly owner: object;
  /** Fields without `#`, in declaration order. */
  readonly fields: readonly string[];
  /** Names without `#` of methods, which a revived class also keeps as fields. */
  readonly methods: readonly string[];
  readonly access: PrivateAccess | undefined;
  /** A compiler put them into `WeakMap`s, which travel with the class. */
  readonly isApart: boolean;
}

const NONE: PrivateState[] = [];
const declarations = new WeakMap<object, PrivateDeclarations | "none">();

function declarationsOf(cls: object): PrivateDeclarations | undefined {
  const known = declarations.get(cls);
  if (known !== undefined) return known === "none" ? undefined : known;
  const found = findDeclarations(cls);
  declarations.set(cls, found ?? "none");
  return found;
}

function findDeclarations(cls: object): PrivateDeclarations | undefined {
  const revived = revivedSource(cls);
  if (revived !== undefined) {
    const { privates } = revived;
    if (privates === undefined || !privates.hasInstanceMembers) return undefined;
    return { owner: cls, fields: privates.fields, methods: privates.methods, access: privates, isApart: false };
  }
  if (keepsPrivatesApart(sourceTextOf(cls))) {
    return { owner: cls, fields: [], methods: [], access: undefined, isApart: true };
  }
  if (!isClass(cls) || !sourceTextOf(cls).includes("#") || intrinsicPathOf(cls) !== undefined) return undefined;
  const { location } = viewFunction(cls);
  if (location === undefined || scriptOf(location.scriptId)?.source === undefined) return undefined;
  const site = siteAt(location, true);
  const members = site === undefined ? [] : privateMembersAt(site).filter(({ isStatic }) => !isStatic);
  if (members.length === 0) return undefined;
  const fields = members.filter(({ kind }) => kind === "field").map(({ name }) => name);
  return { owner: cls, fields, methods: [], access: undefined, isApart: false };
}

/** The classes with private members that an object is an instance of, the base class first. */
function privateChain(object: object): PrivateDeclarations[] {
  const chain: PrivateDeclarations[] = [];
  for (let prototype = Reflect.getPrototypeOf(object); prototype !== null; ) {
    const constructor: unknown = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof constructor === "function") {
      const found = declarationsOf(constructor);
      if (found !== undefined) chain.unshift(found);
    }
    prototype = Reflect.getPrototypeOf(prototype);
  }
  return chain;
}

/**
 * The private state of an object: an entry for each class of its chain that declares private members, the base class
 * first, and those with the entries in weak collections of modules; empty for most objects. Throws `ShippingError` when
 * private fields cannot be told apart, or cannot be set at the receiver.
 */
export function privatesOf(object: object, policy: ShippingPolicy = {}): PrivateState[] {
  const fields = privateFieldsOf(object, policy);
  const weak = weakStateOf(object, policy);
  return weak.length === 0 ? fields : [...fields, ...weak];
}

function privateFieldsOf(object: object, policy: ShippingPolicy): PrivateState[] {
  const all = privateChain(object);
  if (all.length === 0) return NONE;
  for (const { owner, access } of all) {
    if (access === undefined) refuseIfReference(owner);
    else refuseIfReturning(owner, policy);
  }
  const chain = all.filter(({ isApart }) => !isApart);
  const needsInspector = chain.some(({ access, fields }) => access === undefined && fields.length > 0);
  const listed = needsInspector ? viewPrivates(object) : [];
  let position = 0;
  return chain.map(({ owner, fields, methods, access }) => {
    if (access !== undefined) {
      position = skipPast(listed, position, [...fields, ...methods]);
      return { owner, names: fields, values: access.has(object) ? access.read(object) : [] };
    }
    const values = fields.map((name) => {
      const at = indexFrom(listed, `#${name}`, position);
      if (at < 0) throw missing(owner, name);
      position = at + 1;
      return listed[at]?.value;
    });
    return { owner, names: fields, values };
  });
}

const travellingByValue = new WeakMap<object, number>();

/** Private state can be set only in a revived class, not in one that the receiver has by itself. */
function refuseIfReference(owner: object): void {
  const version = overridesVersion();
  if (travellingByValue.get(owner) === version) return;
  const { way, reason } = dismantleWithReason(owner);
  if (way === "value") {
    travellingByValue.set(owner, version);
    return;
  }
  const runtimeName = runtimeNameOf(owner);
  if (runtimeName !== undefined) {
    const name = runtimeName.slice(runtimeName.indexOf("#") + 1);
    throw new ShippingError(`is a ${name}, which belongs to this process`, [], "make it inside the routine");
  }
  const title = isFunction(owner) ? owner.name : "its class";
  throw new ShippingError(
    `has private fields of ${title}, which travels by reference: ${reason}`,
    [],
    `make the instance inside the routine, or let the module travel as code with \`shipping.byValue\``,
  );
}

/** At its origin a class is the original, and only its constructor gives an object its private names. */
function refuseIfReturning(owner: object, { destination }: ShippingPolicy): void {
  if (destination === undefined || destination === processId) return;
  if (identityOf(owner)?.startsWith(destination) !== true || revivedSource(owner)?.isQuiet === true) return;
  const title = isFunction(owner) ? owner.name : "its class";
  throw new ShippingError(
    `has private fields of ${title}, and only the constructor of ${title} can set them in the process that defines ${title}`,
    [],
    `return plain data and construct the ${title} from it there`,
  );
}

function indexFrom(listed: readonly PrivateField[], name: string, start: number): number {
  return listed.findIndex((field, index) => index >= start && field.name === name);
}

function skipPast(listed: readonly PrivateField[], start: number, names: readonly string[]): number {
  let position = start;
  for (const name of names) position = Math.max(position, indexFrom(listed, `#${name}`, position) + 1);
  return position;
}

function missing(owner: object, name: string): ShippingError {
  const title = isFunction(owner) ? owner.name : "its class";
  return new ShippingError(
    `has no private field #${name} although it is an instance of ${title}`,
    [`#${name}`],
    "capture only objects that their class has constructed",
  );
}

/** Sets the private state of an object: the fields of classes that were revived here, without running any initializer. */
export function restorePrivates(object: object, state: readonly PrivateState[]): void {
  for (const each of state) {
    const { owner, names, values } = each;
    if (names.some(isWeakName)) {
      restoreWeakState(object, each);
      continue;
    }
    const access = accessTo(owner, object);
    access.write(
      object,
      access.fields.map((name) => values[names.indexOf(name)]),
    );
  }
}

function accessTo(owner: object, object: object): PrivateWriter {
  const access = revivedSource(owner)?.privates;
  if (access !== undefined) {
    if (!access.has(object)) access.install(object);
    return access;
  }
  const writer = isFunction(owner) ? privateWriterOf(owner) : undefined;
  if (writer === undefined || !writer.has(object)) throw unrestorable(owner);
  return writer;
}

/**
 * A new object for an instance of `cls` that comes back, if classes of this process give it private names; undefined for
 * an instance of any other class. Nothing of the program runs but constructors that only set fields.
 */
export function constructReturning(cls: object): object | undefined {
  for (let owner: unknown = cls; isFunction(owner); owner = Reflect.getPrototypeOf(owner)) {
    if (revivedSource(owner) !== undefined) continue;
    const declared = declarationsOf(owner);
    if (declared === undefined || declared.isApart) continue;
    const object = constructQuietly(owner, cls);
    if (object === undefined) throw unrestorable(owner);
    return object;
  }
  return undefined;
}

function unrestorable(owner: object): Error {
  const title = isFunction(owner) ? owner.name : "a class";
  return new TypeError(
    `the private fields of an instance of ${title} cannot be set in the process that defines ${title} or imports it: ` +
      "only its constructor can do that. Return plain data and construct the instance from it.",
  );
}
