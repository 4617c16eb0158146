import { builtinModules, isBuiltin } from "node:module";
import { isObject } from "../../checks/index.ts";
import { loadedByNode } from "../engine/index.ts";

/** A place in a module of Node.js. */
export interface BuiltinPlace {
  /** Without `node:`. */
  readonly module: string;
  /** Property names from its exports on; empty for the exports themselves. */
  readonly path: readonly string[];
}

const places = new Map<object, BuiltinPlace>();
const indexed = new Set<string>();
let indexedLength = 0;
// Loading these prints a warning.
const NOT_TOUCHED: ReadonlySet<string> = new Set(["punycode", "sys", "wasi", "sqlite", "node:sqlite"]);
const MODULE_ENTRY = /^NativeModule (?!internal\/)(.+)$/;

/** The exports of a module of Node.js, as `require` returns them; undefined when there is none of that name. */
export function builtinExports(module: string): object | undefined {
  if (!isBuiltin(module)) return undefined;
  const exports: unknown = process.getBuiltinModule(module);
  return isObject(exports) ? exports : undefined;
}

function add(value: unknown, module: string, path: readonly string[]): value is object {
  if (!isObject(value) || places.has(value)) return false;
  places.set(value, { module, path });
  return true;
}

// Other objects among the exports hold state of the process: sockets, caches, loaded modules.
const NAMESPACES: ReadonlySet<string> = new Set(
  "posix win32 promises types strict webcrypto subtle web utils".split(" "),
);

/** Exports that some versions of Node.js create when they are first read. */
const LAZY: ReadonlySet<string> = new Set(
  "AsyncLocalStorage EventEmitterAsyncResource BlockList SocketAddress ReadStream WriteStream MIMEType parseArgs aborted".split(
    " ",
  ),
);

function memberOf(object: object, key: string): unknown {
  const descriptor = Reflect.getOwnPropertyDescriptor(object, key);
  return descriptor?.get !== undefined && LAZY.has(key) ? Reflect.get(object, key) : descriptor?.value;
}

function addMembers(object: object, module: string, path: readonly string[], depth: number): void {
  for (const key of Object.getOwnPropertyNames(object)) {
    if (key.startsWith("_") || key === "constructor") continue;
    const descriptor = Object.getOwnPropertyDescriptor(object, key);
    if (descriptor === undefined) continue;
    // Other getters are not run: several of them print deprecation warnings.
    if (descriptor.get !== undefined) add(descriptor.get, module, [...path, `get ${key}`]);
    if (descriptor.set !== undefined) add(descriptor.set, module, [...path, `set ${key}`]);
    const value = memberOf(object, key);
    if (!add(value, module, [...path, key]) || depth === 0) continue;
    if (typeof value === "function" || key === "prototype" || NAMESPACES.has(key)) {
      addMembers(value, module, [...path, key], depth - 1);
    }
  }
}

/** Indexes loaded modules only: values of Node.js that a user has come from those. */
function indexLoadedModules(): void {
  if (loadList().length === indexedLength) return;
  // Plain names first, so that an export of several modules is found in the best-known one.
  const names = loadedModules()
    .filter((name) => !indexed.has(name))
    .toSorted((a, b) => a.length - b.length);
  for (const name of names) {
    indexed.add(name);
    const exports = name.startsWith("_") ? undefined : builtinExports(name);
    if (exports === undefined) continue;
    add(exports, name, []);
    addMembers(exports, name, [], 3);
  }
  // Indexing may have loaded more.
  indexedLength = loadList().length;
}

const ALL_MODULES = builtinModules.filter((name) => !NOT_TOUCHED.has(name)).map((name) => `NativeModule ${name}`);

function loadList(): readonly unknown[] {
  const entries = loadedByNode();
  return Array.isArray(entries) ? entries : ALL_MODULES;
}

function loadedModules(): string[] {
  return loadList().flatMap((entry) => MODULE_ENTRY.exec(String(entry))?.[1] ?? []);
}

/** Where a module of Node.js exports a value; undefined when none does. */
export function builtinPlaceOf(value: object): BuiltinPlace | undefined {
  const place = places.get(value);
  if (place !== undefined) return place;
  indexLoadedModules();
  return places.get(value);
}

/** The value at a place in this process's modules of Node.js; undefined when there is none. */
export function builtinAt(place: BuiltinPlace): object | undefined {
  let current: unknown = builtinExports(place.module);
  for (const step of place.path) {
    if (!isObject(current)) return undefined;
    const accessor = /^([gs]et) (.+)$/.exec(step);
    if (accessor === null) current = memberOf(current, step);
    else {
      const descriptor = Reflect.getOwnPropertyDescriptor(current, accessor[2] ?? "");
      current = accessor[1] === "get" ? descriptor?.get : descriptor?.set;
    }
  }
  return isObject(current) ? current : undefined;
}
