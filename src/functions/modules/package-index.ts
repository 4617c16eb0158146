import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { types } from "node:util";
import {
  EngineClosed,
  intrinsicPathOf,
  loadedUrls,
  type ScopeView,
  type Script,
  sourceFileOf,
} from "../engine/index.ts";
import { type Dependency, IS_BUNDLED, OWN_URL } from "../shipment/index.ts";
import { builtinPlaceOf } from "./builtin-modules.ts";
import type { ModuleReference } from "./export-places.ts";
import { INHERITED, OF_EVERY_FUNCTION, symbolsOf } from "./export-shape.ts";
import { memberOf, noteHeld } from "./held-instances.ts";
import { importFrom } from "./import-from.ts";
import {
  noteEntry,
  packageFile,
  packageNameOf,
  requiredExports,
  requiredPaths,
  specifierModule,
} from "./module-names.ts";
import { importResolve, isBareSpecifier, RUNTIME, requireResolve, resolveUserModule } from "./resolve-module.ts";
import { entryPath, importerOf, isInPackage, pathOf } from "./root.ts";

/*
 * Exports of packages that the program imported, by identity. The file of a function does not tell where it is
 * exported: a package may re-export values of other files from its entry, or make its classes with a factory.
 */

const indexed = new WeakMap<WeakKey, ModuleReference>();
/** Where other packages export the same value. */
const others = new WeakMap<WeakKey, ModuleReference[]>();
const MOST_OTHERS = 3;
/** Plain objects among the exports. They are data, unless instances inherit from them. */
const plain = new WeakMap<object, ModuleReference>();
const prototypes = new WeakSet<object>();
const MAX_DEPTH = 3;
const MAX_MEMBERS = 10_000;

/** Where a package exports a function, its prototype, a namespace or a symbol; undefined for values that are not indexed. */
export function indexedExport(value: WeakKey): ModuleReference | undefined {
  return indexed.get(value);
}

/**
 * Where other packages export a value that has been indexed. A package may extend what it takes from another one and
 * exports again, so a receiver that has loaded only the other one lacks something.
 */
export function otherExports(value: WeakKey): readonly ModuleReference[] {
  return others.get(value) ?? [];
}

/** Says that instances inherit from an object. Then it is code of the package that exports it, such as `numeral.fn`. */
export function indexAsPrototype(prototype: object): void {
  const reference = plain.get(prototype);
  if (reference !== undefined && !indexed.has(prototype)) {
    indexed.set(prototype, reference);
    prototypes.add(prototype);
  }
}

/** True for such an object. */
export function isIndexedPrototype(value: object): boolean {
  return prototypes.has(value);
}

/**
 * Indexes the exports of a module that this process has loaded.
 *
 * @param only - `prototypes`: only the classes and other objects that its exports inherit from
 */
export function indexExports(exports: unknown, module: Dependency, title: string, only?: "prototypes"): void {
  const instances: [object, readonly string[]][] = [];
  const behind: [object, object, readonly string[]][] = [];
  const visited = new Set<object>();
  let left = MAX_MEMBERS;
  const note = (value: WeakKey, path: readonly string[]): boolean => {
    left -= 1;
    if (left < 0) return false;
    const known = indexed.get(value);
    const reference = { module, path, title, wrapper: undefined };
    if (known === undefined) indexed.set(value, reference);
    else if (known.module.hash !== module.hash) noteOther(value, reference);
    return known === undefined;
  };
  const visit = (value: unknown, path: readonly string[], holder?: object): void => {
    if (typeof value === "symbol") {
      if (only === undefined && Symbol.keyFor(value) === undefined) note(value, path);
    } else if (typeof value === "function") {
      if (only === undefined ? note(value, path) : !visited.has(value)) {
        visited.add(value);
        enter(value, path);
        if (only !== undefined) return;
        const prototype = memberOf(value, "prototype");
        // An assigned prototype does not lead back to its function.
        if (typeof prototype === "object" && prototype !== null) {
          note(prototype, [...path, "prototype"]);
          behind.push([value, prototype, path]);
        }
      }
    } else if (typeof value === "object" && value !== null) {
      // Other objects are data: the program may have changed them.
      if (types.isModuleNamespaceObject(value)) {
        if (note(value, path)) enter(value, path);
      } else if (isPlain(value)) {
        if (path.length > 0 && !plain.has(value)) plain.set(value, { module, path, title, wrapper: undefined });
        enter(value, path);
      } else if (!types.isProxy(value)) {
        instances.push([value, path]);
        if (holder !== undefined) noteHeld(value, holder, path);
      }
    }
  };
  const enter = (holder: object, path: readonly string[]): void => {
    if (path.length >= MAX_DEPTH || types.isProxy(holder)) return;
    for (const key of Object.getOwnPropertyNames(holder)) {
      if (typeof holder !== "function" || !OF_EVERY_FUNCTION.has(key))
        visit(memberOf(holder, key), [...path, key], holder);
    }
  };
  visit(exports, []);
  if (typeof exports === "object" && exports !== null && !types.isModuleNamespaceObject(exports)) enter(exports, []);
  // After the exports: an exported class is named by its export.
  for (const [wrapper, prototype, path] of behind) noteWrapped(wrapper, prototype, path, note);
  for (const [instance, path] of instances) notePrototypes(instance, path, note);
}

function noteOther(value: WeakKey, reference: ModuleReference): void {
  const known = others.get(value) ?? [];
  if (known.length >= MOST_OTHERS || known.some(({ module }) => module.hash === reference.module.hash)) return;
  others.set(value, [...known, reference]);
}

/** Notes the class behind an exported wrapper, such as a Proxy of the class, that has the prototype of the class. */
function noteWrapped(
  wrapper: object,
  prototype: object,
  path: readonly string[],
  note: (value: WeakKey, path: readonly string[]) => boolean,
): void {
  const cls = types.isProxy(prototype) ? undefined : memberOf(prototype, "constructor");
  if (typeof cls !== "function" || cls === wrapper || types.isProxy(cls)) return;
  if (memberOf(cls, "prototype") === prototype) note(cls, [...path, "prototype", "constructor"]);
}

/** Notes the prototypes of an exported object: they are code of the package, whether its class is exported or not. */
function notePrototypes(
  instance: object,
  path: readonly string[],
  note: (value: WeakKey, path: readonly string[]) => boolean,
): void {
  for (const [step, symbol] of symbolsOf(instance)) note(symbol, [...path, step]);
  const steps = [...path, INHERITED];
  const prototype = Reflect.getPrototypeOf(instance);
  if (prototype === null || intrinsicPathOf(prototype) !== undefined || builtinPlaceOf(prototype) !== undefined) return;
  if (types.isProxy(prototype) || !note(prototype, steps)) return;
  const constructor = memberOf(prototype, "constructor");
  if (typeof constructor === "function" && memberOf(constructor, "prototype") === prototype) {
    note(constructor, [...steps, "constructor"]);
  }
  notePrototypes(prototype, steps, note);
}

/** The files of packages whose prototypes have been indexed, and how many files were loaded at that time. */
const withPrototypes = new Set<string>();
const filesSeen = new Map<string, number>();

/** Indexes the prototypes of exported objects, in the loaded CommonJS files of the package that a file belongs to. */
export function indexPrototypesOf(path: string): void {
  const name = packageNameOf(path);
  const folder = path.slice(0, path.lastIndexOf(`node_modules${sep}${name}${sep}`)) + `node_modules${sep}${name}${sep}`;
  const loaded = requiredPaths();
  if (filesSeen.get(folder) === loaded.length) return;
  filesSeen.set(folder, loaded.length);
  for (const file of loaded) {
    if (!file.startsWith(folder) || withPrototypes.has(file) || file.includes(NESTED, folder.length)) continue;
    const required = requiredExports(file);
    if (required === undefined) continue;
    withPrototypes.add(file);
    indexExports(required.exports, packageFile(file), name, "prototypes");
  }
}

const NESTED = `${sep}node_modules${sep}`;

function isPlain(value: object): boolean {
  if (types.isProxy(value)) return false;
  const prototype = Reflect.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

const seen = new Set<string>();
/** The files whose imports from packages have all been indexed. */
const prepared = new Set<string>();
/** Import declarations. Unlike other code with these words, they start a line. */
const DECLARATIONS = /^[ \t]*(?:import|export)\b(?!\s+type\b)(?:[^"'`();]*\bfrom)?\s*(["'])([^"'\n]+)\1/gm;
const IMPORTS = /\b(?:from|import|require)\s*\(?\s*(["'])([^"'\n]+)\1/g;

/**
 * Indexes the imports of a user's file from packages, as far as that is possible without waiting: the values of its
 * imports, and the exports of CommonJS modules.
 */
export function indexImportsOf(script: Script, scopes: readonly ScopeView[]): void {
  const importer = importerOf(script.url);
  if (seen.has(script.id) || importer === undefined || isInPackage(importer)) return;
  seen.add(script.id);
  for (const specifier of packageSpecifiers(script.source ?? "", importer, IMPORTS)) indexRequired(specifier, importer);
  const variables = scopes.find(({ description }) => description === "Module")?.variables ?? {};
  for (const { name, imported } of sourceFileOf(script.id)?.analysis.top.bindings.values() ?? []) {
    if (imported === undefined || !isOfPackage(imported.source, importer)) continue;
    const value = memberOf(variables, name);
    const exports = imported.imported === "*" ? value : { [imported.imported]: value };
    indexExports(exports, noteSpecifier(imported.source, importer, false), imported.source);
  }
}

/** True for a specifier that names a package in a file, except for the runtime. */
export function isOfPackage(specifier: string, importer: string): boolean {
  if (!isBareSpecifier(specifier) || isBuiltin(specifier) || RUNTIME.test(specifier)) return false;
  return resolveUserModule(specifier, importer) === undefined;
}

function packageSpecifiers(source: string, importer: string, pattern: RegExp): Set<string> {
  const found = new Set<string>();
  for (const [, , specifier = ""] of source.matchAll(pattern)) {
    if (isOfPackage(specifier, importer)) found.add(specifier);
  }
  return found;
}

function noteSpecifier(specifier: string, importer: string, isRequired: boolean): Dependency {
  const module = specifierModule(specifier, importer, isRequired);
  noteEntry(/^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier, module);
  return module;
}

function indexRequired(specifier: string, importer: string): void {
  const path = requireResolve(specifier, importer);
  const required = path === undefined || !isInPackage(path) ? undefined : requiredExports(path);
  if (required !== undefined) indexExports(required.exports, noteSpecifier(specifier, importer, true), specifier);
}

/**
 * The folder of the runtime's built files. They need no index. It took 30 ms of a profile where the package is linked, so that its files
 * look like those of the user.
 */
const OWN_FOLDER = IS_BUNDLED || OWN_URL.endsWith(".ts") ? undefined : dirname(fileURLToPath(OWN_URL)) + sep;

/**
 * Indexes all exports of the ES modules of packages that the user's files import. That takes an `import()` of each,
 * which loads nothing new: the imports of a loaded file are loaded.
 */
export async function indexImports(): Promise<void> {
  let urls: ReadonlySet<string>;
  try {
    urls = loadedUrls();
  } catch (error) {
    if (error instanceof EngineClosed) return;
    throw error;
  }
  // The entry file is not listed before one of its functions was made.
  const paths = new Set([entryPath(), ...[...urls].map(pathOf)]);
  for (const importer of paths) {
    if (importer === undefined || isInPackage(importer) || prepared.has(importer)) continue;
    if (OWN_FOLDER !== undefined && importer.startsWith(OWN_FOLDER)) continue;
    prepared.add(importer);
    for (const specifier of packageSpecifiers(textOf(importer), importer, DECLARATIONS)) {
      const path = importResolve(specifier, importer);
      if (path === undefined || !isInPackage(path) || !isAnyLoaded(path, urls)) continue;
      if (requiredExports(path) !== undefined) continue;
      const namespace = await importFrom(pathToFileURL(importer).href, specifier).catch(() => undefined);
      if (namespace !== undefined) indexExports(namespace, noteSpecifier(specifier, importer, false), specifier);
    }
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Whether any file of the package is loaded: V8 does not list a file that only has re-exports. */
function isAnyLoaded(path: string, urls: ReadonlySet<string>): boolean {
  const name = packageNameOf(path);
  const folder = pathToFileURL(path.slice(0, path.lastIndexOf(`node_modules${sep}${name}`))).href;
  const start = `${folder}/node_modules/${name}/`.replace("//node_modules", "/node_modules");
  for (const url of urls) if (url.startsWith(start)) return true;
  return false;
}
