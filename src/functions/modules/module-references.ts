import { pathToFileURL } from "node:url";
import { types } from "node:util";
import { type ScopeView, type Script, scriptFrom, sourceFileOf } from "../engine/index.ts";
import type { CodeUnit } from "../syntax/index.ts";
import { liveExport } from "./export-declarations.ts";
import {
  type ExportPlace,
  exportedAs,
  exportedValues,
  keptClass,
  type ModuleReference,
  placeInExports,
} from "./export-places.ts";
import { memberOf } from "./held-instances.ts";
import {
  asNamespace,
  moduleOf,
  packageFile,
  requiredExports,
  requiredPaths,
  specifierModule,
  titleOf,
  titleOfPath,
  userModule,
} from "./module-names.ts";
import { indexExports, indexedExport, indexPrototypesOf, otherExports } from "./package-index.ts";
import { isBareSpecifier, requireResolve, resolveUserModule } from "./resolve-module.ts";
import { entryPath, importerOf, isInPackage, pathOf } from "./root.ts";

// References from import declarations, for values whose own code does not tell where they are exported.
const imported = new WeakMap<WeakKey, ModuleReference>();

/** True for a value with identity. Other values are the same in every process. */
function hasIdentity(value: unknown): value is WeakKey {
  if (typeof value === "symbol") return Symbol.keyFor(value) === undefined;
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Remembers that `value` was imported as `name` (`*` for the namespace) from `specifier` by the file at `importer`. */
export function noteImport(value: unknown, specifier: string, name: string, importer: string): void {
  if (!hasIdentity(value) || imported.has(value)) return;
  const reference = importedReference(value, specifier, name, importer);
  if (reference !== undefined) imported.set(value, reference);
}

const withNamespaces = new Set<string>();

/**
 * Remembers the namespaces that a file of a package imports. Its code may have put one into an object, which is met
 * before a function that uses the import.
 */
export function noteNamespaces(script: Script, scopes: readonly ScopeView[]): void {
  const path = pathOf(script.url);
  if (withNamespaces.has(script.id) || !script.isModule || path === undefined || !isInPackage(path)) return;
  withNamespaces.add(script.id);
  const variables = scopes.find(({ description }) => description === "Module")?.variables ?? {};
  for (const { name, imported: from } of sourceFileOf(script.id)?.analysis.top.bindings.values() ?? []) {
    if (from?.imported === "*") noteImport(memberOf(variables, name), from.source, "*", script.url);
  }
}

/** Remembers the place of `value` in the CommonJS module that `specifier` names in the file at `importer`, if it is there. */
export function noteRequired(value: unknown, specifier: string, importer: string): void {
  const path = importerOf(importer);
  if (!hasIdentity(value) || path === undefined || imported.has(value)) return;
  const reference = requiredFrom(value, specifier, path);
  if (reference !== undefined) imported.set(value, reference);
}

function importedReference(
  value: WeakKey,
  specifier: string,
  name: string,
  importer: string,
): ModuleReference | undefined {
  const path = name === "*" ? [] : [name];
  const importerPath = importerOf(importer);
  if (specifier.startsWith("node:")) {
    return { module: specifierModule(specifier, undefined, false), path, title: specifier, wrapper: undefined };
  }
  const target = importerPath === undefined ? undefined : resolveUserModule(specifier, importerPath);
  if (target === undefined) {
    if (!isBareSpecifier(specifier)) return undefined;
    const required = importerPath === undefined ? undefined : requiredFrom(value, specifier, importerPath);
    if (required !== undefined) return required;
    return { module: specifierModule(specifier, importerPath, false), path, title: specifier, wrapper: undefined };
  }
  const script = isInPackage(target) ? undefined : scriptFrom(pathToFileURL(target).href);
  if (script !== undefined && liveExport(script, name) !== undefined) return undefined;
  return exportFrom(target, name, value);
}

/** The export of a file with a name (`*` for all); undefined when only its code may travel, or there is no such export. */
export function exportFrom(path: string, name: string, value: unknown): ModuleReference | undefined {
  const whole = wholeModule(path);
  if (whole === undefined) return undefined;
  const required = requiredExports(path);
  if (required === undefined) return { ...whole, path: name === "*" ? [] : [name] };
  if (types.isModuleNamespaceObject(value)) return { ...whole, module: asNamespace(whole.module) };
  const place = hasIdentity(value) ? placeInExports(value, required.exports) : undefined;
  return place === undefined ? undefined : { ...whole, ...place };
}

/** A file as a module; undefined when only its code may travel. */
function wholeModule(path: string): ModuleReference | undefined {
  const script = isInPackage(path) ? undefined : scriptFrom(pathToFileURL(path).href);
  const module = isInPackage(path) ? packageFile(path) : script === undefined ? undefined : moduleOf(script);
  return module === undefined ? undefined : { module, path: [], title: titleOfPath(path), wrapper: undefined };
}

/**
 * The place of a value in the CommonJS module that a specifier names; undefined when it is not there. Objects that a
 * transpiler made from such a module are not searched.
 */
function requiredFrom(value: WeakKey, specifier: string, importer: string): ModuleReference | undefined {
  const path = requireResolve(specifier, importer);
  const required = path === undefined ? undefined : requiredExports(path);
  if (path === undefined || required === undefined) return undefined;
  const place = placeInExports(value, required.exports);
  if (place === undefined) return undefined;
  if (!isInPackage(path)) return exportFrom(path, "*", value);
  return { module: specifierModule(specifier, importer, true), ...place, title: specifier };
}

/** The CommonJS module that a specifier names, and its exports; undefined when it was not loaded as CommonJS. */
export function requiredModule(
  specifier: string,
  importer: string,
): { readonly whole: ModuleReference; readonly exports: object } | undefined {
  const path = requireResolve(specifier, importer);
  const exports: unknown = path === undefined ? undefined : requiredExports(path)?.exports;
  if (path === undefined || path === entryPath() || !hasIdentity(exports) || typeof exports === "symbol") {
    return undefined;
  }
  const whole = requiredFrom(exports, specifier, importer);
  return whole === undefined ? undefined : { whole, exports };
}

/** True for the exports of a CommonJS module as a whole. */
export function isWholeModule(value: object): boolean {
  return requiredPaths().some((path) => requiredExports(path)?.exports === value);
}

/** The reference to a value from an import declaration or from the package that exports it; undefined without one. */
export function importedAs(value: WeakKey): ModuleReference | undefined {
  return imported.get(value) ?? indexedExport(value);
}

/** All such references, that of `importedAs` first: a receiver may lack one of the packages, or what the program added to it. */
export function importsOf(value: WeakKey): readonly ModuleReference[] {
  const all = [imported.get(value), indexedExport(value), ...otherExports(value)];
  return all.filter((each) => each !== undefined);
}

/** The export of a function in the module that defines it, itself or wrapped; undefined when there is none. */
export function exportOf(
  value: object,
  script: Script,
  unit: CodeUnit,
  scopes: readonly ScopeView[],
): ModuleReference | undefined {
  const exported = script.isModule ? exportedAs(value, script, unit, scopes) : requiredPlace(value, script);
  const path = pathOf(script.url);
  const isOfUser = path !== undefined && !isInPackage(path);
  const place = exported ?? (isOfUser ? keptClass(value, script, unit, scopes) : undefined);
  if (place === undefined) {
    if (path === undefined || isOfUser) return undefined;
    if (script.isModule) indexScript(script, scopes);
    else indexPrototypesOf(path);
    return indexedExport(value);
  }
  const module = moduleOf(script);
  return module === undefined ? undefined : { module, ...place, title: titleOf(script) };
}

const indexedScripts = new Set<string>();

/** Indexes the exports of an ES module of a package, including members of objects, as one of its functions sees them. */
function indexScript(script: Script, scopes: readonly ScopeView[]): void {
  const module = indexedScripts.has(script.id) ? undefined : moduleOf(script);
  indexedScripts.add(script.id);
  if (module !== undefined) indexExports(exportedValues(script, scopes), module, titleOf(script));
}

function requiredPlace(value: object, script: Script): ExportPlace | undefined {
  const path = pathOf(script.url);
  return path === undefined ? undefined : placeInExports(value, requiredExports(path)?.exports);
}

/** Remembers the place of an object among the exports of a module that is loaded, if it is there. */
export function noteExport(value: object, script: Script, scopes: readonly ScopeView[]): void {
  const place = script.isModule ? placeInExports(value, exportedValues(script, scopes)) : requiredPlace(value, script);
  const module = place === undefined ? undefined : moduleOf(script);
  if (place === undefined || place.wrapper !== undefined || module === undefined) return;
  imported.set(value, { module, ...place, title: titleOf(script) });
}

/** The export of a CommonJS module that is this value, found without the engine. */
export function requiredExport(value: object): ModuleReference | undefined {
  for (const path of requiredPaths()) {
    const place = placeInExports(value, requiredExports(path)?.exports);
    if (place === undefined || path === entryPath()) continue;
    const loaded = isInPackage(path) ? packageFile(path) : userModule(path, []);
    if (loaded !== undefined) return { module: loaded, ...place, title: titleOfPath(path) };
  }
  return undefined;
}
