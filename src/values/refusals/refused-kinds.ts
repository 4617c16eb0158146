import { types } from "node:util";
import { platformName } from "../function-port.ts";
import { ownProperty } from "../own-property.ts";
import { ValueRefusal } from "../value-refusal.ts";

interface RefusedKind {
  is(value: object): boolean;
  readonly what: string;
  readonly fix: string;
}

const iteratorPrototypes: readonly unknown[] = [
  Object.getPrototypeOf(Object.getPrototypeOf([].values())),
  Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})()))),
];

/** The prototypes of timers, whose classes Node.js does not export. */
const timerPrototypes: readonly object[] = timers();

function timers(): object[] {
  const timeout = setTimeout(() => {}, 0);
  const immediate = setImmediate(() => {});
  clearTimeout(timeout);
  clearImmediate(immediate);
  return [timeout, immediate].map((timer) => Object.getPrototypeOf(timer));
}

/** Objects with state that code cannot see. */
const refusedKinds: readonly RefusedKind[] = [
  { is: isWeakRef, what: "a WeakRef points into the memory of this process", fix: "Pass what deref() returns." },
  {
    is: (value) => isTagged(value, FinalizationRegistry.prototype),
    what: "a FinalizationRegistry watches the memory of this process",
    fix: "Make it inside the routine.",
  },
  {
    is: (value) => types.isGeneratorObject(value) || isRemoteGenerator(value),
    what: "a started generator cannot continue in another process",
    fix: "Pass its values, such as [...generator], or make the generator function a routine.",
  },
  {
    is: isBuiltInIterator,
    what: "an iterator cannot continue in another process",
    fix: "Pass what it iterates over, or its values, such as [...iterator].",
  },
  {
    is: types.isSharedArrayBuffer,
    what: "a SharedArrayBuffer is memory of this process",
    fix: "Pass a copy, such as new Uint8Array(shared).slice().",
  },
  {
    is: types.isArgumentsObject,
    what: "an arguments object belongs to a running call",
    fix: "Use rest parameters, or Array.from(arguments).",
  },
  {
    is: types.isModuleNamespaceObject,
    what: "the namespace of a module belongs to this process",
    fix: "Pass the exports that are needed.",
  },
  {
    is: (value) => value === process.env,
    what: "process.env belongs to this process",
    fix: "Pass a copy, such as { ...process.env }.",
  },
  {
    is: (value) => timerPrototypes.includes(Object.getPrototypeOf(value)),
    what: "a timer belongs to this process",
    fix: "Start it inside the routine.",
  },
  {
    is: types.isExternal,
    what: "a pointer of a native addon belongs to this process",
    fix: "Make it inside the routine.",
  },
];

/** Classes of the platform whose instances have only properties. */
const OPEN_CLASSES = new Set([
  "Object",
  "Function",
  "Array",
  "Map",
  "Set",
  "Date",
  "RegExp",
  "Iterator",
  "Error",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
  "AggregateError",
  "events",
  "fs.Stats",
  "fs.Dirent",
  "url.Url",
  "assert.AssertionError",
]);

const HANDLES = new Set(["net", "tls", "dgram", "http", "https", "http2", "fs", "child_process", "worker_threads"]);

/** Prototypes that were found to have no hidden state, with everything that they inherit from. */
const openPrototypes = new WeakSet<object>([Object.prototype]);

/** True for the generator that a streaming routine returns. */
function isRemoteGenerator(value: object): boolean {
  return ownProperty(value, Symbol.toStringTag)?.value === "AsyncGenerator";
}

/** Throws `ValueRefusal` for an object with hidden state. */
export function refuseHiddenState(value: object): void {
  for (const kind of refusedKinds) {
    if (kind.is(value)) throw new ValueRefusal(value, kind.what, kind.fix);
  }
  const first: object | null = Object.getPrototypeOf(value);
  let prototype = first;
  for (; prototype !== null && !openPrototypes.has(prototype); prototype = Object.getPrototypeOf(prototype)) {
    const constructor = ownProperty(prototype, "constructor")?.value;
    if (typeof constructor !== "function") continue;
    const name = platformName(constructor);
    if (name === undefined || OPEN_CLASSES.has(name)) continue;
    throw new ValueRefusal(value, `${name} ${whyNot(name)}`, fixFor(name));
  }
  if (first !== null) openPrototypes.add(first);
}

function whyNot(name: string): string {
  if (name.startsWith("stream") || /Stream/.test(name)) return "is a stream, which only this process can read or write";
  if (name.startsWith("Abort")) return "is tied to listeners in this process";
  if (HANDLES.has(name.split(".", 1)[0] ?? "")) return "holds an open handle";
  return "has state that only this process can see";
}

function fixFor(name: string): string {
  if (name === "AbortController") return "Pass its signal.";
  if (name === "Request" || name === "Response")
    return "Pass the parts that are needed, such as its url, headers and text.";
  if (name.startsWith("Temporal.")) return `Pass its text, toString(), and call ${name}.from(text) inside the routine.`;
  return "Make it inside the routine, from data that is passed.";
}

function isWeakRef(value: object): boolean {
  return isTagged(value, WeakRef.prototype);
}

/** True when `value` inherits from a built-in prototype. Normally only instances of the built-in class do. */
function isTagged(value: object, prototype: object): boolean {
  return Object.prototype.isPrototypeOf.call(prototype, value);
}

/** Iterators of arrays, strings, maps and so on, and the results of `Iterator.prototype.map` and similar methods. */
function isBuiltInIterator(value: object): boolean {
  let native = false;
  let prototype: object | null = Object.getPrototypeOf(value);
  for (; prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    if (iteratorPrototypes.includes(prototype)) return native;
    const next = ownProperty(prototype, "next")?.value;
    native ||= typeof next === "function" && isNativeCode(next);
  }
  return false;
}

/** True for functions that are not written in JavaScript. */
function isNativeCode(fn: object): boolean {
  return typeof fn === "function" && Function.prototype.toString.call(fn).endsWith("{ [native code] }");
}
