import { isObject } from "../../checks/index.ts";
import type { Dependency } from "../shipment/index.ts";

/**
 * The object that a function from another process uses for an export. `live`: its `v` is the current value of an
 * export. `interop`: like the object that transpilers make from a CommonJS module, with its exports as properties, with
 * all of them as `default`, or both.
 */
export type StandInForm = "live" | "interop";

/** The export that a stand-in represents. */
export interface StandInSource {
  readonly form: StandInForm;
  readonly module: Dependency;
  readonly path: readonly string[];
  /** For `interop`. */
  readonly hasDefault: boolean;
  readonly hasMembers: boolean;
}

const sources = new WeakMap<object, StandInSource>();
const interops = new WeakMap<object, Map<string, object>>();

/** The stand-in for an export of a module that has been loaded here. */
export function openStandIn(exports: object, source: StandInSource): object {
  if (source.form === "interop") return interopOf(exports, source);
  const cell = Object.defineProperty({}, "v", { get: readerOf(exports, source.path) });
  sources.set(cell, source);
  return cell;
}

function readerOf(exports: object, path: readonly string[]): () => unknown {
  const [name, ...more] = path;
  // The usual case is used for functions, too, so it has to be fast.
  if (name !== undefined && more.length === 0) return () => (exports as Readonly<Record<string, unknown>>)[name];
  return () => {
    let current: unknown = exports;
    for (const step of path) current = isObject(current) ? Reflect.get(current, step) : undefined;
    return current;
  };
}

/** Returns the same one each time, as each file has one. */
function interopOf(exports: object, source: StandInSource): object {
  const { hasDefault, hasMembers } = source;
  const key = `${hasDefault} ${hasMembers}`;
  const known = interops.get(exports) ?? new Map<string, object>();
  interops.set(exports, known);
  const interop: object = known.get(key) ?? {};
  known.set(key, interop);
  const names = hasMembers ? Object.getOwnPropertyNames(exports) : [];
  for (const name of names) {
    if (Object.hasOwn(interop, name) || (hasDefault && name === "default")) continue;
    // Such as `__esModule`, which is hidden.
    const enumerable = Reflect.getOwnPropertyDescriptor(exports, name)?.enumerable !== false;
    Object.defineProperty(interop, name, { enumerable, get: (): unknown => Reflect.get(exports, name) });
  }
  if (hasDefault && !Object.hasOwn(interop, "default")) {
    Object.defineProperty(interop, "default", { enumerable: true, value: exports });
  }
  sources.set(interop, source);
  return interop;
}

/** The export that a stand-in represents; undefined for every other object. */
export function standInSource(standIn: object): StandInSource | undefined {
  return sources.get(standIn);
}
