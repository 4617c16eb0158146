import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { types } from "node:util";
import type { Script } from "../engine/index.ts";
import {
  contentHash,
  type Dependency,
  dependencyOf,
  hashOfFiles,
  isRecord,
  OWN_URL,
  overrideFor,
  overridesVersion,
} from "../shipment/index.ts";
import { receivedName } from "./known-names.ts";
import { moduleFactsOf } from "./module-facts.ts";
import { isInPackage, pathOf, toRootRelative } from "./root.ts";

/*
 * The names of modules on the wire. A user's module is a file with a certain content. A module of a package is a
 * specifier, or a file of the package. A module that was loaded as CommonJS is required at the receiver too, and the
 * paths of its exports start at `module.exports`; those of other modules start at the namespace.
 */

const modules = new Map<string, Dependency | undefined>();
const { cache } = createRequire(OWN_URL);

/** A script as a module that a worker may load; undefined when only its code may travel. */
export function moduleOf(script: Script): Dependency | undefined {
  const key = `${script.id}:${overridesVersion()}`;
  if (modules.has(key)) return modules.get(key);
  const module = describeModule(script);
  modules.set(key, module);
  return module;
}

function describeModule(script: Script): Dependency | undefined {
  const path = pathOf(script.url);
  if (path === undefined) return undefined;
  if (isInPackage(path)) return packageFile(path);
  const named = receivedName(path);
  if (named !== undefined) return named;
  const file = toRootRelative(path);
  if (file === undefined) return undefined;
  const { hindrance, isEntry, imports } = moduleFactsOf(script);
  if (hindrance !== undefined && (isEntry || overrideFor(file) !== "reference")) return undefined;
  return userModule(path, imports);
}

/** A user's file. Its content, and that of the files that it imports, must be the same at the receiver. */
export function userModule(path: string, imports: readonly string[]): Dependency | undefined {
  const file = toRootRelative(path);
  const files = imports.map(toRootRelative).filter((imported) => imported !== undefined);
  if (file === undefined || files.length < imports.length) return undefined;
  try {
    const data = { kind: "module", file, content: contentHash(readFileSync(path)), ...formatOf(path) };
    return dependencyOf(files.length === 0 ? data : { ...data, imports: files, importsContent: hashOfFiles(imports) });
  } catch {
    return undefined;
  }
}

/** The module that a specifier of a package or of Node.js names in the folder of a file. */
export function specifierModule(specifier: string, importer: string | undefined, isRequired: boolean): Dependency {
  const from = importer === undefined ? undefined : toRootRelative(dirname(importer));
  return dependencyOf({
    kind: "module",
    specifier,
    ...(from === undefined ? {} : { from }),
    ...(isRequired ? { format: "commonjs" } : {}),
  });
}

/** A file of a package. */
export function packageFile(path: string): Dependency {
  const named = receivedName(path);
  if (named !== undefined) return named;
  const name = packageNameOf(path);
  const parts = path.split(sep);
  const at = parts.lastIndexOf("node_modules") + 1 + name.split("/").length;
  const file = toRootRelative(path);
  const data = { kind: "module", package: name, subpath: parts.slice(at).join("/"), ...formatOf(path) };
  const first = (entries.get(name) ?? []).map((entry) => entry.data);
  return dependencyOf({
    ...data,
    ...(file === undefined ? {} : { file }),
    ...(first.length === 0 ? {} : { entries: first }),
  });
}

const entries = new Map<string, Dependency[]>();

/** Remembers a module that the program imports from a package. A worker loads it before any other file of the package. */
export function noteEntry(packageName: string, module: Dependency): void {
  const known = entries.get(packageName) ?? [];
  if (known.every(({ hash }) => hash !== module.hash)) entries.set(packageName, [...known, module]);
}

/** The name of the package that a file belongs to. */
export function packageNameOf(path: string): string {
  const parts = path.split(sep);
  const at = parts.lastIndexOf("node_modules") + 1;
  return parts.slice(at, at + (parts[at]?.startsWith("@") === true ? 2 : 1)).join("/");
}

/** The same module as `import` would return it: a namespace for CommonJS. */
export function asNamespace(module: Dependency): Dependency {
  if (!isRecord(module.data) || !("format" in module.data)) return module;
  const { format: _, ...data } = module.data;
  return dependencyOf(data);
}

function formatOf(path: string): { readonly format?: string } {
  return requiredExports(path) === undefined ? {} : { format: "commonjs" };
}

/** The exports of a file that was loaded as CommonJS; undefined for any other file. */
export function requiredExports(path: string): { readonly exports: unknown } | undefined {
  const module = cache[path];
  if (module === undefined || !module.loaded || path.endsWith(".json")) return undefined;
  const exports: unknown = module.exports;
  return types.isModuleNamespaceObject(exports) ? undefined : { exports };
}

/** The paths of the files that were loaded as CommonJS. */
export function requiredPaths(): string[] {
  return Object.keys(cache);
}

/** The name of a script in messages: its path relative to the root, else its URL. */
export function titleOf(script: Script): string {
  const path = pathOf(script.url);
  return path === undefined ? script.url : titleOfPath(path);
}

/** The name of a file in messages: its package, or its path relative to the root. */
export function titleOfPath(path: string): string {
  return isInPackage(path) ? packageNameOf(path) : (toRootRelative(path) ?? path);
}
