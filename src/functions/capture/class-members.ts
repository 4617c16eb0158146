import type { MethodDefinition } from "acorn";
import { type CodeSite, type ScopeView, siteAt, viewFunction } from "../engine/index.ts";
import {
  isClass,
  isFunction,
  MEMBER_ROLES,
  type MemberPlace,
  notedPlace,
  notePlace,
  type ShippingPolicy,
} from "../shipment/index.ts";
import type { ClassNode } from "../syntax/index.ts";

/** True for a method that uses `super`. */
export function usesOwnSuper(site: CodeSite): boolean {
  return site.contextual.some(({ type, scope }) => type === "super" && scope.receiverScope().node === site.unit.node);
}

/** The place of a method in its class; undefined when its class cannot be found. */
export function memberPlaceOf(
  fn: object,
  site: CodeSite,
  scopes: readonly ScopeView[],
  policy: ShippingPolicy,
): MemberPlace | undefined {
  const noted = notedPlace(fn);
  if (noted !== undefined) return noted;
  const { owner, member } = site.unit;
  if (owner === undefined || member?.type !== "MethodDefinition") return undefined;
  for (const cls of candidateClasses(owner.id?.name, scopes, policy.holder)) {
    const place = findIn(cls, fn, member.static) ?? declaredPlace(cls, site, member);
    if (place === undefined) continue;
    notePlace(fn, place);
    return place;
  }
  return undefined;
}

function* candidateClasses(
  name: string | undefined,
  scopes: readonly ScopeView[],
  given: object | undefined,
): Generator<object> {
  for (const { variables } of scopes) {
    if (name === undefined || !Object.hasOwn(variables, name)) continue;
    try {
      const value = variables[name];
      if (isFunction(value)) yield value;
    } catch {
      // The class is being defined.
    }
    break;
  }
  if (given !== undefined) yield* classesOf(given);
  for (const holder of recentHolders()) yield* classesOf(holder);
}

/** The classes of an instance, or a class and the classes that it extends. */
function* classesOf(holder: object): Generator<object> {
  for (let current: object | null = holder; current !== null; current = Reflect.getPrototypeOf(current)) {
    if (isFunction(current)) yield current;
    const constructor: unknown = Reflect.getOwnPropertyDescriptor(current, "constructor")?.value;
    if (isFunction(constructor)) yield constructor;
  }
}

function findIn(cls: object, fn: object, isStatic: boolean): MemberPlace | undefined {
  const holder: unknown = isStatic ? cls : Reflect.getOwnPropertyDescriptor(cls, "prototype")?.value;
  if (typeof holder !== "object" && typeof holder !== "function") return undefined;
  if (holder === null) return undefined;
  for (const key of Reflect.ownKeys(holder)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, key);
    const role = MEMBER_ROLES.find((name) => descriptor?.[name] === fn);
    if (role !== undefined && key !== "constructor") return { owner: cls, isStatic, key, role };
  }
  return undefined;
}

/** A decorator may have replaced a method: then the class is recognised by its place in the source. */
function declaredPlace(cls: object, site: CodeSite, member: MethodDefinition): MemberPlace | undefined {
  if (member.computed || member.key.type !== "Identifier") return undefined;
  if (site.unit.owner === undefined || classSite(cls, site, site.unit.owner) === undefined) return undefined;
  const role = member.kind === "get" || member.kind === "set" ? member.kind : "value";
  return { owner: cls, isStatic: member.static, key: member.key.name, role };
}

/** The site of a class, when it is the one that a node in the same source defines. */
function classSite(cls: object, site: CodeSite, node: ClassNode): CodeSite | undefined {
  const location = isClass(cls) ? viewFunction(cls).location : undefined;
  if (location === undefined || location.scriptId !== site.file.script.id) return undefined;
  const found = siteAt(location, true);
  return found?.unit.node === node ? found : undefined;
}

/** The live class that a node around a piece of code defines; undefined when it cannot be found. */
export function classAround(
  site: CodeSite,
  node: ClassNode,
  scopes: readonly ScopeView[],
  holder: object | undefined,
): { readonly cls: object; readonly site: CodeSite } | undefined {
  for (const cls of candidateClasses(node.id?.name, scopes, holder)) {
    const found = classSite(cls, site, node);
    if (found !== undefined) return { cls, site: found };
  }
  return undefined;
}

/**
 * The object that a method of an object literal was defined on, so that `super` can be resolved: the last holder seen
 * whose members match the literal.
 */
export function homeOf(fn: object, site: CodeSite, policy: ShippingPolicy): object | undefined {
  for (const holder of [...(policy.holder === undefined ? [] : [policy.holder]), ...recentHolders()]) {
    if (looksLike(holder, fn, site)) return holder;
  }
  return undefined;
}

function looksLike(holder: object, fn: object, site: CodeSite): boolean {
  const { literal } = site.unit;
  if (literal === undefined) return false;
  let holdsMethod = false;
  let declaresPrototype = false;
  for (const property of literal.properties) {
    if (property.type !== "Property") return false;
    const key = property.key.type === "Identifier" ? property.key.name : undefined;
    if (property.computed || key === undefined) continue;
    if (key === "__proto__" && !property.method && !property.shorthand) {
      declaresPrototype = true;
      continue;
    }
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, key);
    if (descriptor === undefined) return false;
    if (property === site.unit.member) holdsMethod = MEMBER_ROLES.some((role) => descriptor[role] === fn);
  }
  return holdsMethod && (!declaresPrototype || Reflect.getPrototypeOf(holder) !== Object.prototype);
}

const MAX_HOLDERS = 64;
const holders: WeakRef<object>[] = [];

/**
 * Remembers an object whose members are about to be taken apart. A method does not know the object that it was defined
 * on, so the last few objects are searched when that is needed.
 */
export function noteHolder(object: object): void {
  holders.push(new WeakRef(object));
  if (holders.length > MAX_HOLDERS) holders.shift();
}

/** The objects that were noted last, newest first. */
function* recentHolders(): Generator<object> {
  for (let index = holders.length - 1; index >= 0; index -= 1) {
    const object = holders[index]?.deref();
    if (object !== undefined) yield object;
  }
}
