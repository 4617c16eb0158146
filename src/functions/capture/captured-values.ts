import { types } from "node:util";
import { isLeft, isReassigned, isRevivedSlot, isUsedInWith, reassignmentOf, staysUndefined } from "../emit/index.ts";
import { type CodeSite, type FreeName, intrinsicPathOf, sourceFileOf } from "../engine/index.ts";
import {
  builtinExports,
  exportFrom,
  importDeclaration,
  importedAs,
  importerOf,
  isConstantImport,
  isPackageVariable,
  isWholeModule,
  isWritten,
  type LiveVariable,
  liveImport,
  moduleOf,
  noteImport,
  noteRequired,
  pathOf,
  requiredExport,
  requiredExports,
  requiredModule,
  resolveUserModule,
  specifierModule,
  titleOf,
} from "../modules/index.ts";
import {
  type AnyFunction,
  isClass,
  isFunction,
  isNotedConstructor,
  isUserModule,
  noteConstructor,
  revivedSource,
  ShippingError,
  type ShippingPolicy,
} from "../shipment/index.ts";
import { type Binding, isModuleLevel } from "../syntax/index.ts";
import { type CapturedVariable, cellOf, factsOf, globalCell, moduleCell } from "../variables/index.ts";
import { copyOfModule, innerNamespace, isModuleObject, moduleObjectOf, usedMembers } from "./module-copies.ts";
import { isExportedCode, moduleVariable, usesCodeOf, usesOwnModule } from "./module-use.ts";
import { Borrowed, isAllowed, isBeyondReach, namedAgain, referenceOf, SharedExport } from "./references.ts";

/** A captured variable, and the value that travels for it. */
export interface CapturedValue {
  readonly name: string;
  /** `cell` for a variable that some code assigns to. */
  readonly kind: "slot" | "cell";
  readonly value: unknown;
  /** True when neither the variable nor the value that travels for it can change later. */
  readonly isFixed: boolean;
}

/** Chooses what travels for a captured variable: a cell, a reference to a module, or the value itself. */
export function captureValue(
  fn: object,
  site: CodeSite,
  variable: CapturedVariable,
  policy: ShippingPolicy,
): CapturedValue {
  const { name, value, free, scope } = variable;
  const { binding } = free;
  if (isFunction(value) && isConstructedIn(site, free)) noteIfSteady(value);
  const isGlobal = scope === undefined || (binding === undefined && scope.description === "Script");
  if (isGlobal && moduleVariable(binding) === undefined) {
    const loaded = binding === undefined ? loadedModule(value, policy) : undefined;
    return { name, kind: "cell", value: loaded ?? globalCell(name, value), isFixed: false };
  }
  const own = ownVariable(site, variable, policy) ?? ownExports(site, variable, policy);
  if (own !== undefined) return { name, ...own };
  if (binding !== undefined && isReassigned(binding, site.file)) {
    if (isUsedInWith(site, free)) {
      throw new ShippingError(
        `"${name}" is assigned to, and used inside \`with\``,
        [name],
        "remove the `with` statement",
      );
    }
    return { name, kind: "cell", value: cellOf(fn, site, variable), isFixed: false };
  }
  if (binding !== undefined && isRevivedSlot(binding)) {
    const named = namedAgain(value, policy);
    if (named !== value) return { name, kind: "slot", value: named, isFixed: true };
  }
  const isFixed = isSettled(site, binding, value);
  if (name === "arguments" && types.isArgumentsObject(value)) {
    return { name, kind: "slot", value: [...Array.prototype.slice.call(value)], isFixed: false };
  }
  if (name === "module" && binding === undefined) {
    return { name, kind: "slot", value: moduleStandIn(value), isFixed: true };
  }
  const specifier = moduleObjectOf(binding);
  if (specifier !== undefined && !isModuleObject(value)) {
    const required = requiredValue(site, variable, specifier, policy);
    if (required !== undefined) return { name, kind: "slot", value: required, isFixed: true };
  }
  if (specifier !== undefined && isModuleObject(value)) {
    return { name, kind: "slot", ...moduleValue(site, variable, specifier, value, policy) };
  }
  const ofModule = binding?.imported === undefined ? moduleVariable(binding) : undefined;
  if (ofModule !== undefined) noteRequired(value, ofModule.source, site.file.script.url);
  const shared = importedData(site, variable, policy);
  if (shared !== undefined) return { name, ...shared };
  if (typeof value === "object" && value !== null && referenceOf(value, policy) !== undefined) {
    return { name, kind: "slot", value: Borrowed.of(value), isFixed: true };
  }
  const inner =
    binding?.imported === undefined ? undefined : innerNamespace(value, binding.imported, site.file.script, policy);
  if (inner !== undefined) return { name, kind: "slot", value: inner, isFixed: false };
  const builtin = builtinExport(binding, value);
  if (builtin !== undefined) return { name, kind: "slot", value: builtin, isFixed: true };
  return { name, kind: "slot", value, isFixed };
}

/** True when code constructs what a variable holds, or asks whether something is an instance of it. */
function isConstructedIn({ file }: CodeSite, { references }: FreeName): boolean {
  return references.some(({ node }) =>
    /\b(?:new|instanceof)\s+$/.test(file.source.slice(Math.max(0, node.start - 12), node.start)),
  );
}

/**
 * Functions that a receiver revives once may lead to this one, so it has to be one there, too: else what one payload
 * constructs is no instance for the code of another. A function that assigns to variables stays a copy in each call.
 */
function noteIfSteady(fn: AnyFunction): void {
  if (isClass(fn) || !Object.hasOwn(fn, "prototype") || isNotedConstructor(fn)) return;
  if (revivedSource(fn) !== undefined || intrinsicPathOf(fn) !== undefined) return;
  try {
    const { site } = factsOf(fn);
    const isSteady = [...site.free.values()].every(
      ({ binding }) => binding === undefined || !isReassigned(binding, site.file),
    );
    if (isSteady) noteConstructor(fn);
  } catch (error) {
    // If it has to travel itself, the error is thrown again.
    if (!(error instanceof ShippingError)) throw error;
  }
}

/**
 * A variable of the module that the code belongs to, when the receiver runs functions of that module by itself: then
 * the code uses the receiver's variable, as those functions do.
 */
function ownVariable(
  site: CodeSite,
  { name, free, value, scopes }: CapturedVariable,
  policy: ShippingPolicy,
): Pick<CapturedValue, "kind" | "value" | "isFixed"> | undefined {
  const { binding } = free;
  if (binding === undefined || !isModuleLevel(binding.scope, site.file.program)) return undefined;
  if (policy.ship === "value" || moduleVariable(binding) !== undefined) return undefined;
  const isLive = isReassigned(binding, site.file);
  const hasIdentity = (typeof value === "object" && value !== null) || typeof value === "function";
  if ((!isLive && (!hasIdentity || isExportedCode(value))) || isUsedInWith(site, free)) return undefined;
  const { script } = site.file;
  const module = moduleOf(script);
  if (module === undefined || !isUserModule(module.data)) return undefined;
  const reference = { module, path: [name], title: titleOf(script), wrapper: undefined };
  if (!isAllowed(reference, policy) || !usesOwnModule(site, scopes)) return undefined;
  const shared = new SharedExport(reference, value, isLive ? "live-variable" : "variable");
  return { kind: isLive ? "cell" : "slot", value: shared, isFixed: true };
}

/** The same for `exports` and `module` of a CommonJS module, in which tsc keeps the variables that it exports. */
function ownExports(
  site: CodeSite,
  { name, free, value, scopes }: CapturedVariable,
  policy: ShippingPolicy,
): Pick<CapturedValue, "kind" | "value" | "isFixed"> | undefined {
  if (free.binding !== undefined || (name !== "exports" && name !== "module") || policy.ship === "value")
    return undefined;
  const exports: unknown = name === "exports" || !isModuleObjectOf(value) ? value : value.exports;
  const { script } = site.file;
  const path = pathOf(script.url);
  const module = path === undefined || requiredExports(path)?.exports !== exports ? undefined : moduleOf(script);
  if (module === undefined || !isUserModule(module.data)) return undefined;
  const reference = { module, path: [], title: titleOf(script), wrapper: undefined };
  if (!isAllowed(reference, policy)) return undefined;
  if (name === "exports" && !usesOwnModule(site, scopes) && !usesFunctionsOf(exports, free)) return undefined;
  const shared = new SharedExport(reference, exports, "itself");
  return { kind: "slot", value: name === "exports" ? shared : { exports: shared }, isFixed: true };
}

/** True when code uses functions among the members of an object, or does anything else with it. */
function usesFunctionsOf(object: unknown, free: FreeName): boolean {
  if (typeof object !== "object" || object === null || types.isProxy(object)) return true;
  return (usedMembers(free) ?? Object.keys(object)).some((member) => {
    const { value, get } = Reflect.getOwnPropertyDescriptor(object, member) ?? {};
    return typeof value === "function" || get !== undefined;
  });
}

function isModuleObjectOf(value: unknown): value is { readonly exports: unknown } {
  return typeof value === "object" && value !== null && "exports" in value;
}

/**
 * What was imported by name. Data of a user's module travels with its current value. If code of the module is used too,
 * the receiver's own data is used instead, as that code does. Of a package it is always the receiver's own. A variable
 * that its module assigns to is read each time, and so is a number or string that each process computes for itself.
 */
function importedData(
  site: CodeSite,
  { free, value, scopes }: CapturedVariable,
  policy: ShippingPolicy,
): Pick<CapturedValue, "kind" | "value" | "isFixed"> | undefined {
  const variable = moduleVariable(free.binding);
  if (variable === undefined || variable.imported === "*") return undefined;
  const { source, imported } = variable;
  const { script } = site.file;
  const importer = importerOf(script.url);
  if (importer === undefined) return undefined;
  const isLiveImport = free.binding?.imported !== undefined;
  const target = resolveUserModule(source, importer);
  if (target === undefined) {
    if (!isLiveImport || policy.ship === "value" || !isPackageVariable(value, source, imported, importer))
      return undefined;
    const module = specifierModule(source, importer, false);
    const reference = { module, path: [imported], title: source, wrapper: undefined };
    if (!isAllowed(reference, policy)) return undefined;
    return { kind: "cell", value: new SharedExport(reference, value, "live"), isFixed: true };
  }
  const declaration = isLiveImport ? importDeclaration(script, source, imported) : undefined;
  const live = isLiveImport ? liveImport(script, source, imported) : undefined;
  const isComputed = declaration !== undefined && isPrimitive(value) && !isWritten(declaration);
  if (live === undefined && !isComputed && (typeof value !== "object" || value === null)) return undefined;
  const reference = exportFrom(target, imported, value);
  if (reference !== undefined && isAllowed(reference, policy)) {
    const declaring = declaration === undefined ? undefined : pathOf(declaration.script.url);
    if (usesCodeOf(target, site, scopes) || (declaring !== undefined && usesCodeOf(declaring, site, scopes))) {
      const isRead = live !== undefined || isComputed;
      const shared = new SharedExport(reference, value, isRead ? "live" : "itself");
      return { kind: isRead ? "cell" : "slot", value: shared, isFixed: true };
    }
  }
  if (live === undefined) return undefined;
  return { kind: "cell", value: moduleCell(live, value), isFixed: value !== undefined && isInitialised(live) };
}

function isPrimitive(value: unknown): boolean {
  return (typeof value !== "object" || value === null) && typeof value !== "function";
}

/** True for a variable that its module assigns to only once, such as a compiled enum: `(E || (E = {}))`. */
function isInitialised({ script, local }: LiveVariable): boolean {
  const file = sourceFileOf(script.id);
  const binding = file?.analysis.top.bindings.get(local);
  return file !== undefined && binding !== undefined && reassignmentOf(binding, file) === "never";
}

/**
 * A number or string that was imported or required from a module of Node.js has the receiver's value there: its pid, its
 * platform.
 */
function builtinExport(binding: Binding | undefined, value: unknown): Borrowed | undefined {
  const imported = moduleVariable(binding);
  if (imported === undefined || !isPrimitive(value)) return undefined;
  const module = builtinExports(imported.source);
  return module === undefined ? undefined : Borrowed.exportOf(module, imported.imported);
}

/** False for a value that may change later although nothing assigns to it here. */
function isSettled(site: CodeSite, binding: Binding | undefined, value: unknown): boolean {
  const imported = binding?.imported;
  if (imported !== undefined) {
    const { script } = site.file;
    if (isImmutable(value)) return liveImport(script, imported.source, imported.imported) === undefined;
    return value !== undefined && isConstantImport(script, imported.source, imported.imported);
  }
  const isUnassigned = binding === undefined || reassignmentOf(binding, site.file) === "never";
  // A `var` is undefined until its declaration has run.
  if (isUnassigned && (binding?.kind !== "var" || value !== undefined || staysUndefined(binding))) return true;
  return binding !== undefined && isLeft(binding, site.file);
}

/** An imported function or namespace rarely changes; an imported number may be a counter. */
function isImmutable(value: unknown): boolean {
  return typeof value === "function" || (typeof value === "object" && types.isModuleNamespaceObject(value));
}

const standIns = new WeakMap<object, object>();

/** Only the exports of a CommonJS `module` have a meaning in another process. */
function moduleStandIn(module: unknown): unknown {
  if (typeof module !== "object" || module === null) return module;
  const standIn = standIns.get(module) ?? {};
  standIns.set(module, standIn);
  Reflect.set(standIn, "exports", Reflect.get(module, "exports"));
  return standIn;
}

/**
 * The exports of a CommonJS module as a whole. Those of a package are always the receiver's own. Those of a user's
 * module are, too, if its code is used; otherwise their current values travel.
 */
function requiredValue(
  site: CodeSite,
  { value, scopes }: CapturedVariable,
  specifier: string,
  policy: ShippingPolicy,
): SharedExport | undefined {
  const importer = importerOf(site.file.script.url);
  const required = importer === undefined ? undefined : requiredModule(specifier, importer);
  if (importer === undefined || required === undefined || !isAllowed(required.whole, policy)) return undefined;
  const isItself = required.exports === value;
  // A function is known by its own code, or by the package that exports it.
  if (typeof value !== "object" || (!isItself && !isInterop(value, required.exports))) return undefined;
  if (isUserModule(required.whole.module.data)) {
    const target = resolveUserModule(specifier, importer);
    const isCode = isModuleObject(value) || !isItself;
    if (target === undefined || !isCode || !usesCodeOf(target, site, scopes)) return undefined;
  }
  return new SharedExport(required.whole, value, isItself ? "itself" : "interop", required.exports);
}

/** The exports of a user's CommonJS module that another line of the console has loaded; undefined for other values. */
function loadedModule(value: unknown, policy: ShippingPolicy): SharedExport | undefined {
  if (!isModuleObject(value) || types.isProxy(value) || !isWholeModule(value)) return undefined;
  const hasCode = Object.values(value).some((member) => typeof member === "function");
  const reference = hasCode ? requiredExport(value) : undefined;
  if (reference === undefined || reference.path.length > 0 || !isAllowed(reference, policy)) return undefined;
  return isUserModule(reference.module.data) ? new SharedExport(reference, value, "live") : undefined;
}

/** True for the object that a transpiler makes from the exports of a CommonJS module. */
function isInterop(value: object | null, exports: object): boolean {
  if (value === null || types.isProxy(value) || types.isProxy(exports)) return false;
  if (Reflect.getOwnPropertyDescriptor(value, "default")?.value === exports) return true;
  const isCompiled = Reflect.getOwnPropertyDescriptor(exports, "__esModule")?.value === true;
  return isCompiled && Object.keys(value).every((key) => Object.hasOwn(exports, key));
}

/** True for the namespace of a user's module when only data of it is used: then current values travel. */
function isOnlyData(site: CodeSite, { scopes }: CapturedVariable, specifier: string, namespace: object): boolean {
  const reference = importedAs(namespace);
  const importer = importerOf(site.file.script.url);
  if (reference === undefined || isBeyondReach(reference) || importer === undefined) return false;
  const target = resolveUserModule(specifier, importer);
  return target !== undefined && !usesCodeOf(target, site, scopes);
}

function moduleValue(
  site: CodeSite,
  variable: CapturedVariable,
  specifier: string,
  value: object,
  policy: ShippingPolicy,
): Pick<CapturedValue, "value" | "isFixed"> {
  const { script } = site.file;
  const isNamespace = types.isModuleNamespaceObject(value);
  if (isNamespace) noteImport(value, specifier, "*", script.url);
  if (referenceOf(value, policy) !== undefined && !isOnlyData(site, variable, specifier, value)) {
    return { value: Borrowed.of(value), isFixed: true };
  }
  const required = isNamespace ? undefined : requiredValue(site, variable, specifier, policy);
  if (required !== undefined) return { value: required, isFixed: true };
  const copy = copyOfModule(value, usedMembers(variable.free), specifier, script, policy);
  // Anyone may assign to a member of an object that stands for a module.
  const isFixed =
    isNamespace && !Object.keys(copy).some((member) => liveImport(script, specifier, member) !== undefined);
  return { value: copy, isFixed };
}
