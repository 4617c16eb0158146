import { isObject } from "../../checks/index.ts";
import type { Dependency } from "../shipment/index.ts";

/**
 * What a function that came from elsewhere has in place of an export. `live`: an object whose `v` is what the module
 * exports under a name, whenever it is read. `interop`: an object such as transpilers make of a CommonJS module, with its
 * exports as properties, with all of them as `default`, or both.
 */
export type StandInForm = "live" | "interop";

/** Which export something stands for. */
export interface StandInSource {
  readonly form: StandInForm;
  readonly module: Dependency;
  readonly path: readonly string[];
  /** Of `interop`. */
  readonly hasDefault: boolean;
  readonly hasMembers: boolean;
}

const sources = new WeakMap<object, StandInSource>();
const interops = new WeakMap<object, Map<string, object>>();

/** The object that stands for an export of a module that has been loaded here. */
export function openStandIn(exports: object, source: StandInSource): object {
  if (source.form === "interop") return interopOf(exports, source);
  const cell = Object.defineProperty({}, "v", {
    get: (): unknown => {
      let current: unknown = exports;
      for (const step of source.path) current = isObject(current) ? Reflect.get(current, step) : undefined;
      return current;
    },
  });
  sources.set(cell, source);
  return cell;
}

/** The same one each time, as there is one in each file. */
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
    Object.defineProperty(interop, name, { enumerable: true, get: (): unknown => Reflect.get(exports, name) });
  }
  if (hasDefault && !Object.hasOwn(interop, "default")) {
    Object.defineProperty(interop, "default", { enumerable: true, value: exports });
  }
  sources.set(interop, source);
  return interop;
}

/** What such an object stands for; undefined for every other object. */
export function standInSource(standIn: object): StandInSource | undefined {
  return sources.get(standIn);
}
