import { inspect } from "node:util";
import { Script } from "node:vm";
import { isObject } from "../../checks/index.ts";
import { captureNumber } from "./variable-marks.ts";

/**
 * False in a test runner that gives each test file a separate realm and loads modules into it. Functions of Node.js
 * belong to the main realm.
 */
export const IS_MAIN_REALM: boolean = inspect instanceof Function;

/**
 * The names that every Node process has. A free variable of one of these names means the receiver's own global. Any
 * other property of globalThis is the user's and travels like a captured variable.
 */
const STANDARD_GLOBALS: ReadonlySet<string> = new Set(
  (
    "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp " +
    "Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError " +
    "globalThis JSON Math Intl ArrayBuffer Atomics Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array " +
    "Float16Array Float32Array Float64Array Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set " +
    "Iterator AsyncIterator WeakMap WeakSet WeakRef Proxy Reflect FinalizationRegistry SharedArrayBuffer " +
    "DisposableStack AsyncDisposableStack Temporal decodeURI decodeURIComponent encodeURI encodeURIComponent escape " +
    "unescape eval isFinite isNaN console process global WebAssembly Buffer URL URLSearchParams URLPattern " +
    "TextEncoder TextDecoder TextEncoderStream TextDecoderStream AbortController AbortSignal Event EventTarget " +
    "EventSource CustomEvent CloseEvent MessageChannel MessagePort MessageEvent BroadcastChannel WebSocket " +
    "structuredClone queueMicrotask setTimeout clearTimeout setInterval clearInterval setImmediate clearImmediate " +
    "fetch Headers Request Response FormData Blob File performance Performance PerformanceEntry PerformanceMark " +
    "PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming DOMException " +
    "ReadableStream ReadableStreamDefaultReader ReadableStreamBYOBReader ReadableStreamBYOBRequest " +
    "ReadableByteStreamController ReadableStreamDefaultController WritableStream WritableStreamDefaultController " +
    "WritableStreamDefaultWriter TransformStream TransformStreamDefaultController ByteLengthQueuingStrategy " +
    "CountQueuingStrategy CompressionStream DecompressionStream atob btoa crypto Crypto CryptoKey SubtleCrypto " +
    "navigator Navigator Storage localStorage sessionStorage"
  ).split(" "),
);

// Reading these loads a subsystem, prints a warning, or gives another value in each process.
const NOT_WALKED: ReadonlySet<string> = new Set(
  "Infinity NaN undefined globalThis global localStorage sessionStorage navigator EventSource Storage".split(" "),
);

// The properties of these are state of the process, not part of the language: only the objects and their methods count.
const SHALLOW: ReadonlySet<string> = new Set(["process", "console", "crypto", "performance"]);

interface Intrinsics {
  readonly paths: Map<object, string>;
  readonly values: Map<string, object>;
  readonly addAll: (named: readonly NamedIntrinsic[]) => void;
}

let table: Intrinsics | undefined;

function labelOf(key: string | symbol): string {
  return typeof key === "symbol" ? `@@${key.description ?? ""}` : key;
}

function buildTable(): Intrinsics {
  const paths = new Map<object, string>();
  const values = new Map<string, object>();
  const visited = new Set<object>();
  let isAddingTwins = false;
  const add = (value: unknown, path: string): value is object => {
    if (!isObject(value)) return false;
    const known = paths.get(value);
    if (known === undefined) paths.set(value, path);
    // A value that both realms have, or that is found first.
    if (!isAddingTwins && (known ?? path) === path && !values.has(path)) values.set(path, value);
    return true;
  };
  const walk = (value: unknown, path: string, depth: number): void => {
    if (!add(value, path) || depth === 0 || visited.has(value)) return;
    visited.add(value);
    for (const key of Reflect.ownKeys(value)) {
      const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
      if (descriptor === undefined) continue;
      const label = labelOf(key);
      if (descriptor.get !== undefined) add(descriptor.get, `${path}.get ${label}`);
      if (descriptor.set !== undefined) add(descriptor.set, `${path}.set ${label}`);
      if ("value" in descriptor) walk(descriptor.value, `${path}.${label}`, depth - 1);
    }
    walk(Reflect.getPrototypeOf(value), `${path}.[[Prototype]]`, depth - 1);
  };
  const addAll = (loaded: readonly NamedIntrinsic[]): void => {
    const named = isAddingTwins ? loaded : [...loaded, ...takeParents(loaded)];
    // A value that is a global itself is named by that, not by the path on which it was found first.
    for (const { name, value } of named) {
      add(value, name);
      add(Reflect.getOwnPropertyDescriptor(value, "prototype")?.value, `${name}.prototype`);
    }
    for (const { name, value } of named) {
      if (SHALLOW.has(name)) addMethods(value, name, add);
      else walk(value, name, 3);
    }
  };
  if (!IS_MAIN_REALM) {
    isAddingTwins = true;
    addAll(mainRealmGlobals());
    isAddingTwins = false;
    visited.clear();
  }
  add(globalThis, "globalThis");
  addAll([...unnamedIntrinsics(makeSamples()), ...takeLoaded(unloaded)]);
  return { paths, values, addAll };
}

interface NamedIntrinsic {
  readonly name: string;
  readonly value: object;
}

/** The main realm's values of this realm's globals: objects that Node.js makes, and functions that come back, use these. */
function mainRealmGlobals(): NamedIntrinsic[] {
  const realm: unknown = new Script("globalThis").runInThisContext();
  const samples: unknown = new Script(`(${makeSamples.toString()})()`).runInThisContext();
  if (!isObject(realm)) return [];
  const named = [...unloaded].flatMap((name) => {
    const value: unknown = Reflect.getOwnPropertyDescriptor(realm, name)?.value;
    return isObject(value) ? [{ name, value }] : [];
  });
  return [...unnamedIntrinsics(samples), ...named];
}

/** Globals that Node.js loads at their first use: a program that has one of them has loaded it. */
const unloaded = new Set([...STANDARD_GLOBALS].filter((name) => !NOT_WALKED.has(name)));

// These stay accessors. The module that they load tells whether they were used.
const LOADED_BY: ReadonlyMap<string, string> = new Map([
  ["process", "NativeModule events"],
  ["DOMException", "NativeModule events"],
  ["Buffer", "NativeModule buffer"],
  ["performance", "NativeModule perf_hooks"],
  ["crypto", "NativeModule internal/crypto/webcrypto"],
]);

let mainProcess: unknown;

/** The names of the parts of Node.js that are loaded. A test runner's own `process` has a copy of the list. */
export function loadedByNode(): unknown {
  mainProcess ??= IS_MAIN_REALM ? process : new Script("process").runInThisContext();
  return isObject(mainProcess) ? Reflect.get(mainProcess, "moduleLoadList") : undefined;
}

/** Removes the loaded globals from a set of names, and returns them. */
function takeLoaded(names: Set<string>): NamedIntrinsic[] {
  const modules: unknown = loadedByNode();
  const loaded: NamedIntrinsic[] = [];
  for (const name of names) {
    const loader = LOADED_BY.get(name);
    const isUsed = loader !== undefined && (!Array.isArray(modules) || modules.includes(loader));
    const descriptor = Reflect.getOwnPropertyDescriptor(globalThis, name);
    const value: unknown = isUsed ? Reflect.get(globalThis, name) : descriptor?.value;
    if (!isObject(value)) continue;
    names.delete(name);
    loaded.push(...originals(name, value), { name, value });
  }
  return loaded;
}

/** The global that another one of the same name extends and replaced, as the `Date` of fake timers does. */
function originals(name: string, value: object): NamedIntrinsic[] {
  const parent = Reflect.getPrototypeOf(value);
  return typeof parent === "function" && parent.name === name ? [{ name, value: parent }] : [];
}

/** Finds globals that others inherit from: these are loaded with them, even if nobody used them by name. */
function takeParents(loaded: readonly NamedIntrinsic[]): NamedIntrinsic[] {
  const parents: NamedIntrinsic[] = [];
  for (const { value } of loaded) {
    const parent = Reflect.getPrototypeOf(value);
    if (typeof parent !== "function" || !unloaded.has(parent.name)) continue;
    if (Reflect.get(globalThis, parent.name) !== parent) continue;
    unloaded.delete(parent.name);
    parents.push({ name: parent.name, value: parent });
  }
  return parents.length === 0 ? parents : [...parents, ...takeParents(parents)];
}

/** Adds the methods of an object, without its data. */
function addMethods(object: object, path: string, add: (value: unknown, path: string) => boolean): void {
  for (const key of Reflect.ownKeys(object)) {
    const value: unknown = Reflect.getOwnPropertyDescriptor(object, key)?.value;
    if (typeof value === "function") add(value, `${path}.${labelOf(key)}`);
  }
}

const UNNAMED: readonly string[] = [
  "%GeneratorFunction.prototype%",
  "%AsyncFunction.prototype%",
  "%AsyncGeneratorFunction.prototype%",
  "%ArrayIteratorPrototype%",
  "%MapIteratorPrototype%",
  "%SetIteratorPrototype%",
  "%StringIteratorPrototype%",
  "%RegExpStringIteratorPrototype%",
];

/** Objects whose prototypes have no name, in the order of `UNNAMED`. Its text is also run in the main realm. */
const makeSamples = (): object[] => [
  function* () {},
  async () => {},
  async function* () {},
  [].values(),
  new Map().values(),
  new Set().values(),
  ""[Symbol.iterator](),
  "".matchAll(/x/g),
];

function unnamedIntrinsics(samples: unknown): NamedIntrinsic[] {
  return UNNAMED.flatMap((name, index) => {
    const sample: unknown = isObject(samples) ? Reflect.get(samples, index) : undefined;
    const value = isObject(sample) ? Reflect.getPrototypeOf(sample) : null;
    return value === null ? [] : [{ name, value }];
  });
}

function intrinsics(): Intrinsics {
  table ??= buildTable();
  return table;
}

/** The capture that has looked for globals that were loaded since. */
let lookedIn: number | undefined;

/** The path of something that every Node process has, such as `Map.prototype.get size`; undefined for anything else. */
export function intrinsicPathOf(value: object): string | undefined {
  const { paths, addAll } = intrinsics();
  const path = paths.get(value);
  if (path !== undefined || unloaded.size === 0) return path;
  // No code of the user runs during a capture, so looking for new globals once is enough. Looking takes 13 us.
  const capture = captureNumber();
  if (capture !== undefined && capture === lookedIn) return undefined;
  lookedIn = capture;
  const loaded = takeLoaded(unloaded);
  if (loaded.length === 0) return undefined;
  addAll(loaded);
  return paths.get(value);
}

/** The value at an intrinsic's path in this process; undefined when there is none. */
export function intrinsicAt(path: string): object | undefined {
  const { values, addAll } = intrinsics();
  const value = values.get(path);
  if (value !== undefined) return value;
  const [name = ""] = path.split(".");
  if (!unloaded.has(name)) return undefined;
  const loaded: unknown = Reflect.get(globalThis, name);
  if (!isObject(loaded)) return undefined;
  unloaded.delete(name);
  addAll([{ name, value: loaded }]);
  return values.get(path);
}

/** True for a global variable that every Node process has. */
export function isStandardGlobal(name: string): boolean {
  return STANDARD_GLOBALS.has(name);
}
