import { type ComputedMember, computedMembers } from "../emit/index.ts";
import { type CodeSite, readVariable, type ScopeView, UNINITIALISED, viewFunction } from "../engine/index.ts";
import {
  describeProperties,
  integrityOf,
  notedPlace,
  type PartsList,
  type PlainData,
  type PristineClass,
  ShippingError,
  wrappedBy,
} from "../shipment/index.ts";
import { isClassNode } from "../syntax/index.ts";
import { describeInPlace, describeNameAndLength } from "./describe-function.ts";

type Facts = { readonly [key: string]: PlainData };
type Key = string | symbol;

/** Tells whether a property of a class or of its prototype is still what the body of the class defined. */
export interface ClassBody {
  isDefined(isStatic: boolean, key: Key, descriptor: PropertyDescriptor): boolean;
  /** The keys that the body defines. */
  keys(isStatic: boolean): Iterable<Key>;
}

const STANDARD_KEYS: ReadonlySet<Key> = new Set(["length", "name", "prototype"]);

/** Everything about a class that its code does not tell. Live values go into `parts`; the caller adds others to `early`. */
export function describeClass(cls: object, body: ClassBody, parts: PartsList): Facts {
  const facts: Record<string, PlainData> = { ...describeNameAndLength(cls) };
  const prototype = prototypeOf(cls);
  const isAddition = (isStatic: boolean) => (key: Key, descriptor: PropertyDescriptor) =>
    !body.isDefined(isStatic, key, descriptor);
  const statics = describeProperties(
    cls,
    (key, descriptor) => (!STANDARD_KEYS.has(key) || isRedefined(facts, key)) && isAddition(true)(key, descriptor),
    parts,
  );
  if (statics.length > 0) facts["properties"] = statics;
  const parent = Reflect.getPrototypeOf(cls);
  const expected = parent === Function.prototype ? Object.prototype : prototypeProperty(parent);
  const isNullClass = parent === Function.prototype && Reflect.getPrototypeOf(prototype) === null;
  const described = describeInPlace(
    prototype,
    (key, descriptor) => key !== "constructor" && isAddition(false)(key, descriptor),
    parts,
    isNullClass || Reflect.getPrototypeOf(prototype) === expected,
  );
  if (described !== undefined) facts["prototype"] = described;
  const removed = [
    ...removedKeys(cls, body.keys(true)).map((key) => [true, key]),
    ...removedKeys(prototype, body.keys(false)).map((key) => [false, key]),
  ];
  if (removed.length > 0) facts["removed"] = removed;
  const integrity = integrityOf(cls);
  if (integrity !== "open") facts["integrity"] = integrity;
  return facts;
}

/** The private static fields of a class, in declaration order. */
export function describePrivateStatics(
  fields: readonly { readonly name: string; readonly value: unknown }[],
  parts: PartsList,
): Facts {
  if (fields.length === 0) return {};
  return { privateStatics: fields.map(({ name, value }) => parts.add(value, name)) };
}

/** True when a static member redefines `name` or `length`. */
function isRedefined(facts: Facts, key: Key): boolean {
  return (key === "name" || key === "length") && !(key in facts);
}

function prototypeOf(cls: object): object {
  const prototype = prototypeProperty(cls);
  if (typeof prototype !== "object" || prototype === null) {
    throw new ShippingError("the class has no prototype", [], "do not replace the prototype of a class");
  }
  return prototype;
}

function prototypeProperty(cls: object | null): unknown {
  return cls === null ? null : Reflect.getOwnPropertyDescriptor(cls, "prototype")?.value;
}

function removedKeys(object: object, keys: Iterable<Key>): string[] {
  const removed: string[] = [];
  for (const key of keys) if (typeof key === "string" && !Object.hasOwn(object, key)) removed.push(key);
  return removed;
}

/** The values that the definition of a class needs: its superclass, if it has one, and the keys of its computed members. */
export function definitionValues(cls: object, site: CodeSite): unknown[] {
  const { node } = site.unit;
  const early: unknown[] = [];
  if (isClassNode(node) && node.superClass != null) {
    const extendsNull = Reflect.getPrototypeOf(prototypeOf(cls)) === null;
    early.push(extendsNull ? null : Reflect.getPrototypeOf(cls));
  }
  for (const member of computedMembers(site)) early.push(computedKey(cls, site, member));
  return early;
}

function computedKey(cls: object, site: CodeSite, member: ComputedMember): Key {
  const { key } = member;
  if (key.type === "Literal") return String(key.value);
  if (key.type === "MemberExpression" && key.object.type === "Identifier" && key.object.name === "Symbol") {
    const wellKnown: unknown = key.property.type === "Identifier" ? Reflect.get(Symbol, key.property.name) : undefined;
    if (typeof wellKnown === "symbol") return wellKnown;
  }
  const named = key.type === "Identifier" ? constantKey(cls, site, key.name) : undefined;
  if (named !== undefined) return named;
  const holder = member.static ? cls : prototypeOf(cls);
  const text = memberText(site, member);
  for (const candidate of Reflect.ownKeys(holder)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, candidate);
    const functions = descriptor === undefined ? [] : functionsOf(descriptor);
    if (functions.some((fn) => textOf(wrappedBy(fn)?.fn ?? fn) === text)) return candidate;
  }
  throw new ShippingError(
    `the computed key of a ${member.type === "PropertyDefinition" ? "field" : "member"} cannot be read back from the class`,
    [site.file.source.slice(key.start, key.end)],
    "give the member a plain name, or assign it in the constructor",
  );
}

/** The key that a constant around a class holds, if the engine kept the constant. */
function constantKey(cls: object, { unit }: CodeSite, name: string): Key | undefined {
  const binding = unit.scope.lookup(name);
  if (binding === undefined || (binding.kind !== "const" && binding.imported === undefined)) return undefined;
  const scope = viewFunction(cls).scopes.find(({ variables }) => Object.hasOwn(variables, name));
  const value = scope === undefined ? undefined : readVariable(scope, name);
  return typeof value === "string" || typeof value === "symbol" ? value : undefined;
}

function memberText(site: CodeSite, member: ComputedMember): string {
  const text = site.file.source.slice(member.start, member.end);
  return member.static ? text.replace(/^static(?:\s|\/\*[^]*?\*\/|\/\/[^\n]*\n)*/, "") : text;
}

function functionsOf({ value, get, set }: PropertyDescriptor): unknown[] {
  return [value, get, set].filter((item) => typeof item === "function");
}

function textOf(fn: unknown): string {
  return typeof fn === "function" ? Function.prototype.toString.call(fn) : "";
}

/** The members that the body of a class at a site defines, recognised by their source text. */
export function bodyAt(cls: object, site: CodeSite, early: readonly unknown[]): ClassBody {
  const texts = { true: new Map<Key, Set<string>>(), false: new Map<Key, Set<string>>() };
  const { node } = site.unit;
  const computed = computedMembers(site);
  const hasSameSurroundings = surroundingsOf(cls, site);
  const offset = isClassNode(node) && node.superClass != null ? 1 : 0;
  for (const member of isClassNode(node) ? node.body.body : []) {
    if (member.type !== "MethodDefinition" || member.kind === "constructor") continue;
    const key = member.computed ? early[offset + computed.indexOf(member)] : plainKey(member);
    if (typeof key !== "string" && typeof key !== "symbol") continue;
    const known = texts[`${member.static}`];
    const members = known.get(key) ?? new Set();
    known.set(key, members.add(memberText(site, member)));
  }
  return {
    isDefined(isStatic, key, descriptor) {
      const members = texts[`${isStatic}`].get(key);
      const functions = functionsOf(descriptor);
      const isClosed = integrityOf(isStatic ? cls : prototypeOf(cls)) !== "open";
      const isStandard = descriptor.enumerable === false && (descriptor.configurable === true || isClosed);
      return (
        members !== undefined &&
        isStandard &&
        functions.length > 0 &&
        functions.every((fn) => members.has(textOf(fn)) && hasSameSurroundings(fn))
      );
    },
    keys: (isStatic) => texts[`${isStatic}`].keys(),
  };
}

/**
 * A class that is made more than once makes methods with the same text. A method copied from another such class is
 * recognised by its captured variables. The result is for one capture, in which each method is asked about twice.
 */
function surroundingsOf(cls: object, site: CodeSite): (fn: unknown) => boolean {
  const compared = new Map<object, boolean>();
  let scopes: readonly ScopeView[] | undefined;
  return (fn) => {
    if (site.unit.scope.kind === "top" || site.free.size === 0 || typeof fn !== "function") return true;
    if (notedPlace(fn)?.owner === cls) return true;
    scopes ??= viewFunction(cls).scopes;
    const isSame = compared.get(fn) ?? areSame(viewFunction(fn).scopes, scopes);
    compared.set(fn, isSame);
    return isSame;
  };
}

function areSame(scopes: readonly ScopeView[], outer: readonly ScopeView[]): boolean {
  const others = outer.toReversed();
  return scopes.toReversed().every((scope, index) => {
    const other = others[index];
    if (other === undefined || scope.description.startsWith("Global")) return true;
    return Object.keys(scope.variables).every(
      (name) =>
        !Object.hasOwn(other.variables, name) ||
        Object.is(readVariable(scope, name, UNINITIALISED), readVariable(other, name, UNINITIALISED)),
    );
  });
}

/** The properties of a class, or of its prototype, that are still as its body defined them. */
export function definedBy(cls: object, body: ClassBody, isStatic: boolean): Map<Key, PropertyDescriptor> {
  const holder = isStatic ? cls : prototypeOf(cls);
  const defined = new Map<Key, PropertyDescriptor>();
  for (const key of body.keys(isStatic)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, key);
    if (descriptor !== undefined && body.isDefined(isStatic, key, descriptor)) defined.set(key, descriptor);
  }
  return defined;
}

function plainKey({ key }: ComputedMember): string | undefined {
  if (key.type === "Identifier") return key.name;
  return key.type === "Literal" ? String(key.value) : undefined;
}

/** The members of a revived class, as they were right after its definition. */
export function pristineBody({ statics, members }: PristineClass): ClassBody {
  return {
    isDefined(isStatic, key, descriptor) {
      const defined = (isStatic ? statics : members).get(key);
      return (
        defined !== undefined &&
        defined.value === descriptor.value &&
        defined.get === descriptor.get &&
        defined.set === descriptor.set
      );
    },
    keys: (isStatic) => (isStatic ? statics : members).keys(),
  };
}
