import { basename, dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { types } from "node:util";
import type { AnyNode } from "acorn";
import { type CodeSite, IS_MAIN_REALM, type ScopeView, scriptFrom } from "../engine/index.ts";
import {
  importerOf,
  importsOfFile,
  isReader,
  isWholeModule,
  liveImport,
  moduleFactsOf,
  moduleOf,
  pathOf,
  resolveUserModule,
} from "../modules/index.ts";
import { IS_BUNDLED, isFunction, OWN_URL } from "../shipment/index.ts";
import { type Binding, isModuleLevel, type Reference } from "../syntax/index.ts";
import { factsOf } from "../variables/index.ts";
import { loadedSpecifier, moduleObjectOf, valueIn } from "./module-copies.ts";
import { isReceiversOwn } from "./references.ts";

/** An export of another module that a variable holds, or `*` for an object with all of them. */
export interface ModuleVariable {
  readonly source: string;
  readonly imported: string;
}

/** The export of another module that a variable holds according to its declaration: `import`, or a form of `require`. */
export function moduleVariable(binding: Binding | undefined): ModuleVariable | undefined {
  if (binding?.imported !== undefined) return binding.imported;
  const source = moduleObjectOf(binding);
  if (source !== undefined) return { source, imported: "*" };
  const { declaration, writes = [], name } = binding ?? {};
  if (writes.length > 0 || declaration?.type !== "VariableDeclarator") return undefined;
  const { id, init } = declaration;
  const specifier = id.type === "ObjectPattern" ? loadedSpecifier(init) : undefined;
  if (specifier === undefined || id.type !== "ObjectPattern") return undefined;
  for (const property of id.properties) {
    if (property.type !== "Property" || property.computed || property.key.type !== "Identifier") continue;
    if (property.value.type !== "Identifier" || property.value.name !== name) continue;
    return { source: specifier, imported: property.key.name };
  }
  return undefined;
}

/**
 * True when a piece of code, or other code of its file that it uses, uses code of a user's module, or of a module that
 * imports that one. Such code changes the variables of the receiver's module, so data of the module has to come from
 * there too.
 */
export function usesCodeOf(target: string, site: CodeSite, scopes: readonly ScopeView[]): boolean {
  const known = decided.get(site) ?? new Map<string, boolean>();
  decided.set(site, known);
  const result = known.get(target) ?? isReached(target, site, scopes);
  known.set(target, result);
  return result;
}

const decided = new WeakMap<CodeSite, Map<string, boolean>>();

/**
 * True when code that travels, or other code of its file that it uses, uses exported functions of its own module, or of
 * a module that imports it. Those run in the receiver's module, so other variables have to come from there too.
 */
export function usesOwnModule(site: CodeSite, scopes: readonly ScopeView[]): boolean {
  const own = pathOf(site.file.script.url);
  if (own === undefined) return false;
  const known = ownUse.get(site);
  if (known !== undefined) return known;
  const { entered } = reachedFrom(site);
  const result =
    entered.some(
      ({ scope, name }) => isModuleLevel(scope, site.file.program) && isExportedCode(valueIn(scopes, name)),
    ) || usesCodeOf(own, site, scopes);
  ownUse.set(site, result);
  return result;
}

const ownUse = new WeakMap<CodeSite, boolean>();

/** True for a function that its module exports, so that a receiver can load it. */
export function isExportedCode(value: unknown): boolean {
  if (typeof value !== "function" || types.isProxy(value)) return false;
  try {
    return isFunction(value) && factsOf(value).exported !== undefined;
  } catch {
    // The error is thrown again, with the reason, when the function itself has to travel.
    return false;
  }
}

function isReached(target: string, site: CodeSite, scopes: readonly ScopeView[]): boolean {
  const { references, loaded } = reachedFrom(site);
  const importer = importerOf(site.file.script.url);
  if (importer === undefined) return false;
  if (loaded.some((specifier) => isOrImports(resolveUserModule(specifier, importer), target))) return true;
  return references.some((reference) => leadsTo(target, reference, site, scopes));
}

/** A module that code uses as a copy, and what the code itself loads that has another instance of it. */
export interface LoadedApart {
  /** The specifier of the module that travels as code. */
  readonly copied: string;
  /** The specifier in `import()` or `require`. */
  readonly loaded: string;
}

/** The first module of which a piece of code that travels would have two instances at the receiver; undefined when none. */
export function loadedApart(site: CodeSite): LoadedApart | undefined {
  const { references, loaded } = reachedFrom(site);
  const importer = importerOf(site.file.script.url);
  if (importer === undefined) return undefined;
  const { script } = site.file;
  const own = moduleOf(script) === undefined ? pathOf(script.url) : undefined;
  for (const specifier of loaded) {
    const path = resolveUserModule(specifier, importer);
    // As in a bundle of several files, which import parts of the first one.
    if (own !== undefined && isOrImports(path, own)) return { copied: `./${basename(own)}`, loaded: specifier };
    for (const { binding } of path === undefined ? [] : references) {
      const copied = moduleVariable(binding)?.source ?? "";
      const target = resolveUserModule(copied, importer);
      if (target !== undefined && travelsAsCode(target) && isOrImports(path, target))
        return { copied, loaded: specifier };
    }
  }
  return undefined;
}

function travelsAsCode(path: string): boolean {
  const script = scriptFrom(pathToFileURL(path).href);
  if (script === undefined) return !IS_MAIN_REALM;
  // In a bundle of several files the runtime is in some of them. Its exports do not travel as code.
  if (IS_BUNDLED && dirname(path) === dirname(pathOf(OWN_URL) ?? "")) return false;
  return moduleOf(script) === undefined;
}

function isOrImports(path: string | undefined, target: string): boolean {
  if (path === undefined || path === target) return path !== undefined;
  const module = scriptFrom(pathToFileURL(path).href);
  // What is imported when the code runs may never have been loaded here.
  return module === undefined ? importsOfFile(path).has(target) : moduleFactsOf(module).imports.includes(target);
}

function leadsTo(target: string, reference: Reference, site: CodeSite, scopes: readonly ScopeView[]): boolean {
  const variable = moduleVariable(reference.binding);
  const { script } = site.file;
  const importer = importerOf(script.url);
  if (variable === undefined || importer === undefined) return false;
  const path = resolveUserModule(variable.source, importer);
  if (path === undefined || !isCode(valueIn(scopes, reference.node.name), variable, reference)) return false;
  // The variable is reassigned, so the function may not be the module's own.
  if (variable.imported !== "*" && liveImport(script, variable.source, variable.imported) !== undefined) return false;
  return isOrImports(path, target);
}

function isCode(value: unknown, { imported }: ModuleVariable, { position }: Reference): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "function";
  if (imported !== "*") return isOtherModule(value) || isReceiversOwn(value);
  const members = position.type === "member" ? [position.property] : Object.keys(value);
  return members.some((name) => {
    const member = readMember(value, name);
    if (typeof member !== "object" || member === null) return typeof member === "function";
    return isOtherModule(member) || isReceiversOwn(member);
  });
}

/** True for a namespace that a module exports, also in the form that a transpiler makes. */
function isOtherModule(value: object): boolean {
  if (types.isModuleNamespaceObject(value) || isWholeModule(value)) return true;
  if (types.isProxy(value)) return false;
  return Object.values(Object.getOwnPropertyDescriptors(value)).some(({ get }) => isReader(get));
}

function readMember(object: object, member: string): unknown {
  if (types.isProxy(object)) return undefined;
  const descriptor = Reflect.getOwnPropertyDescriptor(object, member);
  // A getter is code of the module, unless a transpiler made it for an export.
  return isReader(descriptor?.get) ? Reflect.get(object, member) : (descriptor?.get ?? descriptor?.value);
}

interface Reached {
  /** Uses of variables that hold exports of another module. */
  readonly references: readonly Reference[];
  /** Modules that are loaded by `import()` or `require` when the code runs. */
  readonly loaded: readonly string[];
  /** The variables of the same file that are used. */
  readonly entered: readonly Binding[];
}

/** `require`, and what vitest makes of `import()`. */
const LOADER = /^(?:require|__(?:vi|vite_ssr)_dynamic_import__)$/;

/** The parts of other modules that a piece of code uses, itself or through other code of its file. */
function reachedFrom({ file, unit }: CodeSite): Reached {
  const { references, contextual } = file.analysis;
  const reached: Reference[] = [];
  const loaded: string[] = [];
  const entered = new Set<Binding>();
  const pending: AnyNode[] = [unit.node];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    for (const { type, node: syntax } of contextual) {
      if (type !== "import()" || syntax.start < node.start || syntax.end > node.end) continue;
      const specifier = loadedSpecifier(syntax);
      if (specifier !== undefined) loaded.push(specifier);
    }
    for (const reference of referencesIn(references, node)) {
      const { binding } = reference;
      if (LOADER.test(reference.node.name)) {
        const [, , specifier] = calledWith(file.source, reference) ?? [];
        if (specifier !== undefined) loaded.push(specifier);
      }
      if (binding === undefined) continue;
      if (moduleVariable(binding) !== undefined) reached.push(reference);
      else if (!entered.has(binding) && binding.declaration !== undefined) pending.push(binding.declaration);
      entered.add(binding);
    }
  }
  return { references: reached, loaded, entered: [...entered] };
}

function calledWith(source: string, { node }: Reference): RegExpExecArray | null {
  return /^\s*\(\s*(["'])([^"'\n]+)\1\s*\)/.exec(source.slice(node.end, node.end + 300));
}

function* referencesIn(sorted: readonly Reference[], { start, end }: AnyNode): Generator<Reference> {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.node.start ?? 0) < start) low = middle + 1;
    else high = middle;
  }
  for (let index = low; index < sorted.length; index += 1) {
    const reference = sorted[index];
    if (reference === undefined || reference.node.start >= end) return;
    yield reference;
  }
}
