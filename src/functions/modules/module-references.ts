import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { type ScopeView, type Script, scriptFrom } from "../engine/index.ts";
import {
  contentHash,
  contentOf,
  type Dependency,
  dependencyOf,
  OWN_URL,
  overrideFor,
  overridesVersion,
} from "../shipment/index.ts";
import type { CodeUnit } from "../syntax/index.ts";
import { type ExportPlace, exportedAs, isReplaceable, placeInExports } from "./export-places.ts";
import { moduleFactsOf, resolveUserModule } from "./module-facts.ts";
import { entryPath, isInPackage, pathOf, toRootRelative } from "./root.ts";

/** An export of a module that the receiver can load by itself. */
export interface ModuleReference extends ExportPlace {
  readonly module: Dependency;
  /** What a person calls the module: a specifier, or a path relative to the root. */
  readonly title: string;
}

// What an import declaration said of a value, for values whose own code does not tell where they are exported.
const imported = new WeakMap<WeakKey, ModuleReference>();
const modules = new Map<string, Dependency | undefined>();
const require = createRequire(OWN_URL);

/** Other values are the same everywhere. */
function hasIdentity(value: unknown): value is WeakKey {
  if (typeof value === "symbol") return Symbol.keyFor(value) === undefined;
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Remembers that `value` was imported as `name` (`*` for the namespace) from `specifier` by the file at `importer`. */
export function noteImport(value: unknown, specifier: string, name: string, importer: string): void {
  if (!hasIdentity(value) || imported.has(value)) return;
  const reference = importedReference(specifier, name, importer);
  if (reference !== undefined) imported.set(value, reference);
}

function importedReference(specifier: string, name: string, importer: string): ModuleReference | undefined {
  const path = name === "*" ? [] : [name];
  const importerPath = pathOf(importer);
  if (specifier.startsWith("node:")) {
    return { module: dependencyOf({ kind: "module", specifier }), path, title: specifier, wrapper: undefined };
  }
  const isBare = !/^(?:\.{0,2}\/|#|file:|data:|https?:)/.test(specifier);
  if (isBare) {
    const from = importerPath === undefined ? undefined : toRootRelative(dirname(importerPath));
    const data = from === undefined ? { kind: "module", specifier } : { kind: "module", specifier, from };
    return { module: dependencyOf(data), path, title: specifier, wrapper: undefined };
  }
  if (importerPath === undefined) return undefined;
  const target = resolveUserModule(specifier, importerPath);
  if (target === undefined) return undefined;
  if (isInPackage(target)) {
    return { module: packageModule(target), path, title: packageNameOf(target), wrapper: undefined };
  }
  const script = scriptFrom(pathToFileURL(target).href);
  if (script === undefined || isReplaceable(script, name)) return undefined;
  const module = moduleOf(script);
  return module === undefined
    ? undefined
    : { module, path, title: toRootRelative(target) ?? target, wrapper: undefined };
}

const shipped = new Map<string, Map<string, WeakRef<WeakKey>>>();

/** Remembers what this process sent as an export, so that it is recognised when it comes back. */
export function noteShipped(value: WeakKey, { module, path, wrapper }: ModuleReference): void {
  const exports = shipped.get(module.hash) ?? new Map<string, WeakRef<WeakKey>>();
  shipped.set(module.hash, exports);
  const key = shippedKey(path, wrapper !== undefined);
  if (exports.get(key)?.deref() !== value) exports.set(key, new WeakRef(value));
}

function shippedKey(path: readonly string[], isWrapped: boolean): string {
  return JSON.stringify([path, isWrapped]);
}

/** What this process sent as that export, or as what is wrapped in it; undefined when it did not. */
export function shippedExport(moduleHash: string, path: readonly string[], isWrapped: boolean): WeakKey | undefined {
  return shipped.get(moduleHash)?.get(shippedKey(path, isWrapped))?.deref();
}

/** What an import declaration told about this value; undefined when none did. */
export function importedAs(value: WeakKey): ModuleReference | undefined {
  return imported.get(value);
}

/** A script as a module that a worker may load; undefined when only its code may travel. */
function moduleOf(script: Script): Dependency | undefined {
  const key = `${script.id}:${overridesVersion()}`;
  if (modules.has(key)) return modules.get(key);
  const module = describeModule(script);
  modules.set(key, module);
  return module;
}

const received = new Map<string, Dependency>();

/** Remembers that this process has loaded a file because another one named it so: it is called the same from then on. */
export function noteLoaded(path: string, module: Dependency): void {
  if (!received.has(path)) received.set(path, module);
}

function describeModule(script: Script): Dependency | undefined {
  const path = pathOf(script.url);
  if (path === undefined) return undefined;
  if (isInPackage(path)) return packageModule(path);
  const named = received.get(path);
  if (named !== undefined) return named;
  const file = toRootRelative(path);
  if (file === undefined) return undefined;
  const { hindrance, isEntry, imports } = moduleFactsOf(script);
  if (hindrance !== undefined && (isEntry || overrideFor(file) !== "reference")) return undefined;
  return userModule(path, imports);
}

/** Its own content, and that of the files that it imports, must be the same at the receiver. */
function userModule(path: string, imports: readonly string[]): Dependency | undefined {
  const file = toRootRelative(path);
  const files = imports.map(toRootRelative).filter((imported) => imported !== undefined);
  if (file === undefined || files.length < imports.length) return undefined;
  try {
    const data = { kind: "module", file, content: contentHash(readFileSync(path)) };
    return dependencyOf(files.length === 0 ? data : { ...data, imports: files, importsContent: contentOf(imports) });
  } catch {
    return undefined;
  }
}

function packageModule(path: string): Dependency {
  const name = packageNameOf(path);
  const parts = path.split(sep);
  const at = parts.lastIndexOf("node_modules") + 1 + name.split("/").length;
  const file = toRootRelative(path);
  const data = { kind: "module", package: name, subpath: parts.slice(at).join("/") };
  return dependencyOf(file === undefined ? data : { ...data, file });
}

function packageNameOf(path: string): string {
  const parts = path.split(sep);
  const at = parts.lastIndexOf("node_modules") + 1;
  return parts.slice(at, at + (parts[at]?.startsWith("@") === true ? 2 : 1)).join("/");
}

/** The export under which the module that defines a function offers it, itself or wrapped; undefined when it does not. */
export function exportOf(
  value: object,
  script: Script,
  unit: CodeUnit,
  scopes: readonly ScopeView[],
): ModuleReference | undefined {
  const place = script.isModule ? exportedAs(value, script, unit, scopes) : requiredPlace(value, script);
  if (place === undefined) return undefined;
  const module = moduleOf(script);
  return module === undefined ? undefined : { module, ...place, title: titleOf(script) };
}

function requiredPlace(value: object, script: Script): ExportPlace | undefined {
  const path = pathOf(script.url);
  return path === undefined ? undefined : placeInExports(value, require.cache[path]?.exports);
}

/** The export of a CommonJS module that a value is, found without the engine's help. */
export function requiredExport(value: object): ModuleReference | undefined {
  for (const [path, module] of Object.entries(require.cache)) {
    const place = placeInExports(value, module?.exports);
    if (place === undefined || path === entryPath()) continue;
    const loaded = isInPackage(path) ? packageModule(path) : userModule(path, []);
    if (loaded !== undefined) return { module: loaded, ...place, title: titleOfPath(path) };
  }
  return undefined;
}

/** What a person calls a script: its path relative to the root, else its url. */
export function titleOf(script: Script): string {
  const path = pathOf(script.url);
  return path === undefined ? script.url : titleOfPath(path);
}

function titleOfPath(path: string): string {
  return isInPackage(path) ? packageNameOf(path) : (toRootRelative(path) ?? path);
}
