import { types } from "node:util";
import {
  asOneCapture,
  type CodeSite,
  evaluateInside,
  intrinsicPathOf,
  isDebuggerAttached,
  isStandardGlobal,
  privateMembersAt,
  readVariable,
  UNINITIALISED,
  viewFunction,
} from "../engine/index.ts";
import { type AnyFunction, isClass, isFunction, revivedSource } from "../shipment/index.ts";
import { isClassNode, isWithin, quietConstruction, type Surroundings } from "../syntax/index.ts";
import { factsOf } from "./function-facts.ts";

type Constructor = new (...args: unknown[]) => object;

/** Classes of the language whose constructors run no code of the program when they get nothing but inert values. */
const QUIET_BASES: ReadonlySet<string> = new Set([
  "Map",
  "Set",
  "Error",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
]);

/** An argument that a constructor can do anything with: it is empty, and whatever it is asked for is the same again. */
function inert(): unknown {
  const value: unknown = new Proxy(() => undefined, {
    get(_target, key) {
      if (key === Symbol.iterator) return () => [][Symbol.iterator]();
      if (key === Symbol.toPrimitive) return () => 0;
      return value;
    },
  });
  return value;
}

/** Constructors may check their arguments: these are tried one after the other. */
const ARGUMENTS: readonly (() => unknown)[] = [inert, () => undefined, () => "", () => 0, () => [], () => ({})];

interface Construction {
  readonly count: number;
  readonly argument: () => unknown;
}

const constructions = new WeakMap<object, Construction | "none">();

/**
 * True for a class of this process of which objects can be made without the program noticing: constructing it with inert
 * arguments only sets fields. That is so for a constructor that is not written, or that assigns what it is given. An
 * instance that comes back can then get its private fields again.
 */
export function isQuietClass(cls: object): boolean {
  if (constructionOf(cls) === undefined || !isFunction(cls)) return false;
  return !isDebuggerAttached() || privateWriterOf(cls) !== undefined;
}

/** An object with the private names of `cls` and the prototype of `target`, and without properties. */
export function constructQuietly(cls: object, target: object): object | undefined {
  const construction = constructionOf(cls);
  if (construction === undefined || !isConstructor(cls) || !isConstructor(target)) return undefined;
  const object = construct(cls, construction, target);
  for (const key of Reflect.ownKeys(object)) Reflect.deleteProperty(object, key);
  if (types.isMap(object)) Map.prototype.clear.call(object);
  if (types.isSet(object)) Set.prototype.clear.call(object);
  return object;
}

function isConstructor(value: object): value is Constructor {
  return isFunction(value) && Object.hasOwn(value, "prototype");
}

function construct(cls: Constructor, { count, argument }: Construction, target: Constructor): object {
  return Reflect.construct(cls, new Array<unknown>(count).fill(argument()), target);
}

function constructionOf(cls: object): Construction | undefined {
  const known = constructions.get(cls);
  if (known !== undefined) return known === "none" ? undefined : known;
  const found = isFunction(cls) && isQuietChain(cls) ? tryArguments(cls) : undefined;
  constructions.set(cls, found ?? "none");
  return found;
}

function tryArguments(cls: AnyFunction): Construction | undefined {
  if (!isConstructor(cls)) return undefined;
  for (const argument of ARGUMENTS) {
    const construction = { count: Math.max(cls.length, 8), argument };
    try {
      construct(cls, construction, cls);
      return construction;
    } catch {
      // The constructor does not take such arguments.
    }
  }
  return undefined;
}

function isQuietChain(start: AnyFunction): boolean {
  let isGiven = true;
  for (let cls: object | null = start; cls !== null && cls !== Function.prototype; cls = Reflect.getPrototypeOf(cls)) {
    const path = intrinsicPathOf(cls);
    if (path !== undefined) return QUIET_BASES.has(path);
    if (!isFunction(cls) || !isClass(cls) || revivedSource(cls) !== undefined) return false;
    const quiet = quietClass(cls, isGiven);
    if (quiet === undefined || quiet.properties.some((name) => isAccessor(start, name))) return false;
    isGiven &&= quiet.passesOnly;
  }
  return true;
}

function quietClass(cls: AnyFunction, isGiven: boolean): ReturnType<typeof quietConstruction> {
  try {
    const { site } = factsOf(cls);
    const { node } = site.unit;
    return isClassNode(node) ? quietConstruction(node, surroundings(cls, site), isGiven) : undefined;
  } catch {
    // Its source is not available.
    return undefined;
  }
}

function surroundings(cls: object, { unit }: CodeSite): Surroundings {
  return {
    isIntrinsic: (name) => isStandardGlobal(name) && unit.scope.lookup(name) === undefined,
    peek: ([name = "", ...keys]) => {
      const scope = viewFunction(cls).scopes.find(({ variables }) => Object.hasOwn(variables, name));
      if (scope === undefined) return undefined;
      let value = readVariable(scope, name, UNINITIALISED);
      if (value === UNINITIALISED) return undefined;
      for (const key of keys) {
        if (((typeof value !== "object" || value === null) && !isFunction(value)) || types.isProxy(value))
          return undefined;
        const property = Reflect.getOwnPropertyDescriptor(value, key);
        if (property === undefined || !("value" in property)) return undefined;
        value = property.value;
      }
      return { value };
    },
  };
}

/** True when a property of instances is one that runs code. */
function isAccessor(cls: AnyFunction, name: string): boolean {
  for (let holder: unknown = Reflect.get(cls, "prototype"); typeof holder === "object" && holder !== null; ) {
    if (types.isProxy(holder)) return true;
    const property = Reflect.getOwnPropertyDescriptor(holder, name);
    if (property !== undefined) return !("value" in property);
    holder = Reflect.getPrototypeOf(holder);
  }
  return false;
}

/** Sets the private fields of instances of a class of this process. */
export interface PrivateWriter {
  readonly fields: readonly string[];
  has(object: object): boolean;
  write(object: object, values: readonly unknown[]): void;
}

const writers = new WeakMap<object, PrivateWriter>();

/**
 * Sets private fields of instances of a class that this process has defined. The engine makes it once for each class,
 * inside a method of the class: only code in there can name the fields. Undefined when that is not possible.
 */
export function privateWriterOf(cls: AnyFunction): PrivateWriter | undefined {
  const known = writers.get(cls) ?? asOneCapture(() => makeWriter(cls));
  if (known !== undefined) writers.set(cls, known);
  return known;
}

function makeWriter(cls: AnyFunction): PrivateWriter | undefined {
  const { site } = factsOf(cls);
  const members = privateMembersAt(site).filter(({ isStatic }) => !isStatic);
  const fields = members.filter(({ kind }) => kind === "field").map(({ name }) => name);
  const assignments = fields.map((name, index) => `o.#${name}=v[${index}];`).join("");
  const expression = `[o=>#${members[0]?.name} in o,(o,v)=>{${assignments}}]`;
  for (const [fn, inner] of functionsIn(cls, site)) {
    const made = evaluateInside(fn, inner, expression);
    const [has, write]: unknown[] = Array.isArray(made) ? made : [];
    if (!isPredicate(has) || !isWrite(write)) continue;
    return { fields, has, write };
  }
  return undefined;
}

function isPredicate(value: unknown): value is PrivateWriter["has"] {
  return typeof value === "function";
}

function isWrite(value: unknown): value is PrivateWriter["write"] {
  return typeof value === "function";
}

/** The functions that are written as members of a class, its constructor last: entering it makes an object. */
function* functionsIn(cls: AnyFunction, site: CodeSite): Generator<[AnyFunction, CodeSite]> {
  for (const holder of [Reflect.get(cls, "prototype"), cls]) {
    if (typeof holder !== "object" && typeof holder !== "function") continue;
    if (holder === null) continue;
    for (const key of Reflect.ownKeys(holder)) {
      const { value, get, set } = Reflect.getOwnPropertyDescriptor(holder, key) ?? {};
      for (const fn of [value, get, set]) {
        const inner = isFunction(fn) && fn !== cls ? siteIfKnown(fn) : undefined;
        if (inner?.form === "method" && inner.file === site.file && isWithin(inner.unit.node, site.unit.node)) {
          yield [fn, inner];
        }
      }
    }
  }
  yield [cls, site];
}

function siteIfKnown(fn: AnyFunction): CodeSite | undefined {
  try {
    return factsOf(fn).site;
  } catch {
    return undefined;
  }
}
