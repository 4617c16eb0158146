import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { types } from "node:util";
import type { Script } from "../engine/index.ts";
import {
  contentHash,
  contentOf,
  type Dependency,
  dependencyOf,
  isRecord,
  OWN_URL,
  overrideFor,
  overridesVersion,
} from "../shipment/index.ts";
import { moduleFactsOf } from "./module-facts.ts";
import { isInPackage, pathOf, toRootRelative } from "./root.ts";

/*
 * How modules are called on the wire. A module of the user's is a file with a certain content. One of a package is what
 * a specifier leads to, or a file of the package. What was loaded as CommonJS is required there too, and what it
 * exports is counted from `module.exports` on; of other modules from the namespace on.
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

const received = new Map<string, Dependency>();

/** Remembers that this process has loaded a file because another one named it so: it is called the same from then on. */
export function noteLoaded(path: string, module: Dependency): void {
  if (!received.has(path)) received.set(path, module);
}

function describeModule(script: Script): Dependency | undefined {
  const path = pathOf(script.url);
  if (path === undefined) return undefined;
  if (isInPackage(path)) return packageFile(path);
  const named = received.get(path);
  if (named !== undefined) return named;
  const file = toRootRelative(path);
  if (file === undefined) return undefined;
  const { hindrance, isEntry, imports } = moduleFactsOf(script);
  if (hindrance !== undefined && (isEntry || overrideFor(file) !== "reference")) return undefined;
  return userModule(path, imports);
}

/** A file of the user's. Its own content, and that of the files that it imports, must be the same at the receiver. */
export function userModule(path: string, imports: readonly string[]): Dependency | undefined {
  const file = toRootRelative(path);
  const files = imports.map(toRootRelative).filter((imported) => imported !== undefined);
  if (file === undefined || files.length < imports.length) return undefined;
  try {
    const data = { kind: "module", file, content: contentHash(readFileSync(path)), ...formatOf(path) };
    return dependencyOf(files.length === 0 ? data : { ...data, imports: files, importsContent: contentOf(imports) });
  } catch {
    return undefined;
  }
}

/** What a specifier of a package, or of Node itself, leads to from the folder of a file. */
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
  const named = received.get(path);
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

/** Remembers what the program imports of a package. A worker does so first, before it loads another file of the package. */
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

/** The same module as `import` would give it: of CommonJS a namespace. */
export function asNamespace(module: Dependency): Dependency {
  if (!isRecord(module.data) || !("format" in module.data)) return module;
  const { format: _, ...data } = module.data;
  return dependencyOf(data);
}

function formatOf(path: string): { readonly format?: string } {
  return requiredExports(path) === undefined ? {} : { format: "commonjs" };
}

/** What a file exports that was loaded as CommonJS; undefined for every other one. */
export function requiredExports(path: string): { readonly exports: unknown } | undefined {
  const module = cache[path];
  if (module === undefined || !module.loaded || path.endsWith(".json")) return undefined;
  const exports: unknown = module.exports;
  return types.isModuleNamespaceObject(exports) ? undefined : { exports };
}

/** The paths of what has been loaded as CommonJS. */
export function requiredPaths(): string[] {
  return Object.keys(cache);
}

/** What a person calls a script: its path relative to the root, else its url. */
export function titleOf(script: Script): string {
  const path = pathOf(script.url);
  return path === undefined ? script.url : titleOfPath(path);
}

/** What a person calls a file: the package that it belongs to, or its path relative to the root. */
export function titleOfPath(path: string): string {
  return isInPackage(path) ? packageNameOf(path) : (toRootRelative(path) ?? path);
}
