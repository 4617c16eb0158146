import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import { EngineClosed, intrinsicPathOf, scriptOf, viewFunction } from "../engine/index.ts";
import {
  builtinPlaceOf,
  importedAs,
  importsOf,
  indexAsPrototype,
  indexPrototypesOf,
  isIndexedPrototype,
  isInPackage,
  isByInstance as isOfInstance,
  type ModuleReference,
  noteExport,
  noteShipped,
  openedAs,
  pathOf,
  type StandInSource,
  shapeOf,
  standInSource,
} from "../modules/index.ts";
import {
  type AnyFunction,
  byReference,
  type Dismantled,
  exportName,
  isFunction,
  isRecord,
  isUserModule,
  latestConstructors,
  overrideFor,
  type PlainData,
  revivedSource,
  runtimeNameOf,
  ShippingError,
  type ShippingPolicy,
  type Wrapped,
  wrappedBy,
} from "../shipment/index.ts";
import { factsOf } from "../variables/index.ts";
import { noteHolder } from "./class-members.ts";
import { isOwnPrototype, replacedPrototypeOf } from "./describe-function.ts";

/** A shipment that is only a name. */
export function byName(head: PlainData): Dismantled {
  return { head, dependencies: [], early: [], parts: [], labels: [] };
}

/** A shipment that is an export of a module. */
export function byModule(
  value: WeakKey,
  reference: ModuleReference,
  facts: { readonly [key: string]: PlainData } = {},
): Dismantled {
  const { module, path, wrapper, isVariable = false } = reference;
  if (!isVariable) noteShipped(value, reference);
  const kind = isVariable ? "variable" : wrapper === undefined ? "module" : "wrapped";
  const isByInstance = isOfInstance(path);
  const hasShape =
    (typeof value === "function" || isByInstance || (typeof value === "object" && isIndexedPrototype(value))) &&
    typeof value !== "symbol" &&
    !types.isProxy(value) &&
    namesPackage(module.data);
  const shape = hasShape ? shapeOf(value, isByInstance) : "";
  const head = { kind, module: module.hash, path: [...path], ...facts, ...(shape === "" ? {} : { shape }) };
  return { head, dependencies: [module], early: [], parts: [], labels: [] };
}

function namesPackage(data: PlainData): boolean {
  if (!isRecord(data) || isUserModule(data)) return false;
  const { specifier } = data;
  return typeof specifier !== "string" || !specifier.startsWith("node:");
}

/** The standard classes that a class extends, nearest first: for a receiver that does not know the class. */
export function ancestorsOf(cls: object): string[] {
  const ancestors: string[] = [];
  for (let parent = Reflect.getPrototypeOf(cls); parent !== null; parent = Reflect.getPrototypeOf(parent)) {
    const path = intrinsicPathOf(parent);
    if (path !== undefined && path !== "Function.prototype" && path !== "Object.prototype") ancestors.push(path);
  }
  return ancestors;
}

/** A reference to a value that every process has: an export of the runtime, an intrinsic, a member of a module of Node.js. */
export function universalReference(value: object): Dismantled | undefined {
  const runtime = runtimeNameOf(value);
  if (runtime !== undefined) return byName({ kind: "runtime", name: runtime });
  const intrinsic = intrinsicPathOf(value);
  if (intrinsic !== undefined) return byName({ kind: "intrinsic", path: intrinsic });
  const builtin = builtinPlaceOf(value);
  if (builtin !== undefined) return byName({ kind: "builtin", module: builtin.module, path: [...builtin.path] });
  return undefined;
}

/**
 * Stands for an object that travels by reference although it looks like plain data, such as the exports of a package:
 * the codec asks what a `Borrowed` refers to, and the receiver gets its own object in its place.
 */
export class Borrowed {
  readonly value: object;
  /** Set when it stands for a member of `value`, which may be a number or a string. */
  readonly member: string | undefined;

  private constructor(value: object, member?: string) {
    this.value = value;
    this.member = member;
  }

  static readonly #known = new WeakMap<object, Borrowed>();

  /** Stands for an export of a module of Node.js, which may have another value at the receiver. */
  static exportOf(module: object, name: string): Borrowed {
    return new Borrowed(module, name);
  }

  /** Returns the same one each time for the same object. */
  static of(value: object): Borrowed {
    const borrowed = Borrowed.#known.get(value) ?? new Borrowed(value);
    Borrowed.#known.set(value, borrowed);
    return borrowed;
  }
}

/**
 * Stands for an export of which the receiver uses its own, like the code of its module: the export itself, a variable
 * that the module assigns to (instead of a `Cell`), or the object that a transpiler made from a CommonJS module. A
 * variable need not be exported: then the path is its name.
 */
export class SharedExport {
  readonly reference: ModuleReference;
  /** Its value here. */
  readonly value: unknown;
  readonly form: "itself" | "variable" | "live-variable" | StandInSource["form"];
  /** For the last form: the exports of the module as a whole. */
  readonly #exports: unknown;

  constructor(reference: ModuleReference, value: unknown, form: SharedExport["form"], exports?: object) {
    this.reference = reference;
    this.value = value;
    this.form = form;
    this.#exports = exports;
  }

  /** Its name for the receiver; undefined for a value without identity. */
  named(): Dismantled | undefined {
    const { reference, value, form } = this;
    if (form === "itself") return isObject(value) ? byModule(value, reference) : undefined;
    if (form === "variable" || form === "live-variable") {
      const { module, path } = reference;
      const head = { kind: form, module: module.hash, path: [...path] };
      return { head, dependencies: [module], early: [], parts: [], labels: [] };
    }
    const names = form === "interop" && isObject(value) ? Object.keys(value) : [];
    const hasDefault = isObject(value) && names.includes("default") && Reflect.get(value, "default") === this.#exports;
    return standInReference({ form, ...reference, hasDefault, hasMembers: names.length > (hasDefault ? 1 : 0) });
  }
}

/**
 * What travels for a captured variable of code that came from another process: where that process has named an object of
 * a module, the name, and else the value.
 */
export function namedAgain(value: unknown, policy: ShippingPolicy): unknown {
  const known = typeof value === "object" && value !== null ? openedAs(value) : undefined;
  if (known === undefined || policy.ship === "value" || !isAllowed(known.reference, policy)) return value;
  return new SharedExport(known.reference, value, known.form);
}

function standInReference({ form, module, path, hasDefault, hasMembers }: StandInSource): Dismantled {
  const head = { kind: form, module: module.hash, path: [...path], hasDefault, hasMembers };
  return { head, dependencies: [module], early: [], parts: [], labels: [] };
}

/** The import that names a value; undefined when there is none, or the receiver cannot load any such module. */
export function importReference(value: WeakKey, policy: ShippingPolicy): ModuleReference | undefined {
  const reference = importedAs(value);
  if (reference === undefined || isAllowed(reference, policy)) return reference;
  // A module that was not loaded first is no way around `shipping.byValue`.
  if (overrideFor(reference.title) === "value") return undefined;
  return importsOf(value).find((each) => isAllowed(each, policy));
}

/** False when the receiver cannot load the module, or when `shipping.byValue` covers it. */
export function isAllowed(reference: ModuleReference, policy: ShippingPolicy): boolean {
  return whyUnavailable(reference, policy) === undefined && overrideFor(reference.title) !== "value";
}

/** The receiver's reason for a module that it cannot load, or an export that it does not have. */
export function whyUnavailable({ module, path }: ModuleReference, { unavailable }: ShippingPolicy): string | undefined {
  if (unavailable === undefined || unavailable.size === 0) return undefined;
  return unavailable.get(module.hash) ?? unavailable.get(exportName(module.hash, path));
}

/**
 * An object that travels by its name instead of its content: an intrinsic, a namespace or member of one of Node's
 * modules or of a package, an export of the runtime, the prototype that came with a function or class, a wrapper that a
 * module exports. Also for an imported symbol. Undefined for everything else.
 */
export function referenceOf(value: object | symbol, policy: ShippingPolicy = {}): Dismantled | undefined {
  if (typeof value === "symbol") {
    const reference = importReference(value, policy);
    return reference === undefined ? undefined : byModule(value, reference);
  }
  if (types.isProxy(value)) return undefined;
  if (value instanceof Borrowed) return borrowedReference(value, policy);
  if (value instanceof SharedExport) return value.named();
  const standIn = standInSource(value);
  if (standIn !== undefined) return standInReference(standIn);
  const universal = universalReference(value);
  if (universal !== undefined) return universal;
  const wrapped = wrappedBy(value);
  if (wrapped !== undefined) return wrapperReference(value, wrapped, policy);
  noteHolder(value);
  if (byReference in value) noteOwnExport(value);
  const reference = importReference(value, policy) ?? namespaceNear(value, policy);
  if (
    reference !== undefined &&
    (types.isModuleNamespaceObject(value) || isBeyondReach(reference) || isReceiversOwn(value))
  ) {
    return byModule(value, reference);
  }
  const constructor: unknown = Reflect.getOwnPropertyDescriptor(value, "constructor")?.value;
  const owner =
    typeof constructor === "function" && isOwnPrototype(constructor, value) ? constructor : replacedPrototypeOf(value);
  if (owner !== undefined) {
    return { head: { kind: "prototype" }, dependencies: [], early: [owner], parts: [], labels: [] };
  }
  return undefined;
}

/** A namespace that an object holds: its constructor's file may import it, though nothing of that file was taken apart. */
function namespaceNear(value: object, policy: ShippingPolicy): ModuleReference | undefined {
  if (!types.isModuleNamespaceObject(value)) return undefined;
  for (const fn of latestConstructors()) {
    try {
      if (isFunction(fn)) factsOf(fn);
    } catch (error) {
      if (!(error instanceof ShippingError)) throw error;
    }
    const reference = importReference(value, policy);
    if (reference !== undefined) return reference;
  }
  return undefined;
}

const looked = new WeakSet<object>();

/** Looks for an object among the exports of the module of its function, see `byReference`. */
function noteOwnExport(value: object): void {
  const beside: unknown = Reflect.get(value, byReference);
  if (!isFunction(beside) || looked.has(value) || importedAs(value) !== undefined) return;
  looked.add(value);
  try {
    const view = viewFunction(beside);
    const { script } = factsOf(beside, () => view).site.file;
    noteExport(value, script, view.scopes);
  } catch {
    // It travels by value, and is refused with its place if it cannot.
  }
}

/**
 * Says that an object travels whose prototype does not belong to a class. If the prototype is part of a package and can
 * be reached from its exports, it gets a name.
 */
export function notePrototype(prototype: object): void {
  if (looked.has(prototype) || importedAs(prototype) !== undefined) return;
  looked.add(prototype);
  indexAsPrototype(prototype);
  const method = methodOf(prototype);
  const path = method === undefined ? undefined : fileOf(method);
  if (path !== undefined && isInPackage(path)) indexPrototypesOf(path);
}

function methodOf(value: object): object | undefined {
  for (const key of Object.keys(value)) {
    const member: unknown = Reflect.getOwnPropertyDescriptor(value, key)?.value;
    if (typeof member === "function" && !types.isProxy(member) && universalReference(member) === undefined)
      return member;
  }
  return undefined;
}

const files = new WeakMap<object, { readonly path: string | undefined }>();

/** The path of the file that a function was written in; undefined where there is none. */
export function fileOf(fn: object): string | undefined {
  const known = files.get(fn) ?? { path: findFile(fn) };
  files.set(fn, known);
  return known.path;
}

function findFile(fn: object): string | undefined {
  try {
    const { location } = viewFunction(fn);
    const script = location === undefined ? undefined : scriptOf(location.scriptId);
    return script === undefined ? undefined : pathOf(script.url);
  } catch (error) {
    if (error instanceof EngineClosed) return undefined;
    throw error;
  }
}

/** The export of a wrapper, found by its import or by the source of the function inside. */
function wrapperReference(
  wrapper: object,
  { fn, policy: own }: Wrapped,
  policy: ShippingPolicy,
): Dismantled | undefined {
  if (own.ship === "value" || policy.ship === "value") return undefined;
  const imported = importReference(wrapper, policy);
  if (imported !== undefined) return byModule(wrapper, imported);
  if (!isFunction(fn) || revivedSource(fn) !== undefined) return undefined;
  const exported = exportOfInside(fn);
  if (exported?.wrapper !== wrapper || !isAllowed(exported, policy)) return undefined;
  const { module, path, title } = exported;
  return byModule(wrapper, { module, path, title, wrapper: undefined });
}

function exportOfInside(fn: AnyFunction): ModuleReference | undefined {
  try {
    return factsOf(fn).exported;
  } catch {
    // The error is thrown again, with the reason, when the function itself has to travel.
    return undefined;
  }
}

function borrowedReference({ value, member }: Borrowed, policy: ShippingPolicy): Dismantled | undefined {
  if (member === undefined) return referenceOf(value, policy);
  const place = builtinPlaceOf(value);
  if (place === undefined) return undefined;
  return byName({ kind: "builtin-value", module: place.module, name: member });
}

/**
 * True for an object of a user's module of which the receiver uses its own, because its class is from a package or from
 * Node.js. Other data of the module travels with its current value, unless configured otherwise.
 */
export function isReceiversOwn(value: object): boolean {
  return !types.isProxy(value) && (hasForeignClass(value) || byReference in value);
}

/** The first class of an instance that is from a package, or from a module that `shipping.byReference` covers. */
function foreignClassOf(instance: object, policy: ShippingPolicy): ModuleReference | undefined {
  for (let prototype = Reflect.getPrototypeOf(instance); prototype !== null; ) {
    const constructor: unknown = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof constructor === "function" && universalReference(constructor) === undefined) {
      const reference = importReference(constructor, policy) ?? ownReference(constructor, policy);
      if (reference !== undefined && isBeyondReach(reference)) return reference;
    }
    prototype = Reflect.getPrototypeOf(prototype);
  }
  return undefined;
}

function ownReference(fn: object, policy: ShippingPolicy): ModuleReference | undefined {
  if (types.isProxy(fn) || !isFunction(fn) || revivedSource(fn) !== undefined) return undefined;
  const exported = exportOfInside(fn);
  return exported !== undefined && isAllowed(exported, policy) ? exported : undefined;
}

/** True for an export of a package, or of a module that `shipping.byReference` covers: the receiver always uses its own. */
export function isBeyondReach({ module, title }: ModuleReference): boolean {
  return !isUserModule(module.data) || overrideFor(title) === "reference";
}

/** True when its class, or one that it extends, is from a package or from Node.js: its internals must not be copied. */
function hasForeignClass(value: object): boolean {
  for (let prototype = Reflect.getPrototypeOf(value); prototype !== null; ) {
    const constructor: unknown = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof constructor === "function" && intrinsicPathOf(constructor) === undefined) {
      if (builtinPlaceOf(constructor) !== undefined) return true;
      const reference = importedAs(constructor);
      if (reference !== undefined && !isUserModule(reference.module.data)) return true;
    }
    prototype = Reflect.getPrototypeOf(prototype);
  }
  return false;
}

/**
 * Throws `ShippingError` for an instance of a class that the receiver loads by itself, if it has a property under a
 * unique symbol: the receiver's class has another symbol, and would not find the property.
 */
export function refuseSymbol(instance: object, symbol: symbol, policy: ShippingPolicy = {}): void {
  const cls = foreignClassOf(instance, policy);
  if (cls === undefined) return;
  throw new ShippingError(
    `is an instance of "${cls.path.join(".")}" of "${cls.title}", which each process loads by itself, and keeps ` +
      `something under ${String(symbol)}, which is another symbol there`,
    [],
    "send plain data and make the instance from it there",
  );
}
