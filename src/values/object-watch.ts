import { types } from "node:util";
import { type ChangeCheck, type FunctionPort, isCell, watchEntries, watchProperties } from "./function-port.ts";
import { constructorOf } from "./own-property.ts";
import { stateSummary, zodDefinition } from "./slots/index.ts";
import { travellerKindOf } from "./traveller.ts";
import { isWeakCollection } from "./weak-collections.ts";

/** Comparing more elements than this takes about as long as writing them. */
const LONGEST_LIST = 10_000;
const NOTHING: readonly ChangeCheck[] = [];

/**
 * What tells whether an object, function or symbol that was written would be written in the same way again; undefined
 * when nothing tells. What it refers to has to be watched by itself. To be called in the capture that has written it.
 */
export function watchWritten(value: unknown, port: FunctionPort): readonly ChangeCheck[] | undefined {
  if (typeof value === "function") {
    const check = travellerKindOf(value) === undefined ? port.watchFunction?.(value) : undefined;
    return check === undefined ? undefined : [check];
  }
  // The functions that share a variable tell whether it has changed.
  if (typeof value !== "object" || value === null || isCell(value)) return NOTHING;
  if (types.isProxy(value) || travellerKindOf(value) !== undefined) return undefined;
  if (port.referenceOf(value) !== undefined) return NOTHING;
  if (types.isModuleNamespaceObject(value) || zodDefinition(value) !== undefined) return undefined;
  // Its entries are not written with it.
  if (isWeakCollection(value)) return [watchProperties(value)];
  if (Array.isArray(value) && value.length > LONGEST_LIST) return undefined;
  // A class may stop keeping it, which its own properties do not show.
  if (isKept(value, port)) return undefined;
  const state = watchState(value);
  const privates = port.watchPrivates?.(value);
  return state === undefined || privates === undefined ? undefined : [watchProperties(value), ...state, ...privates];
}

function isKept(value: object, port: FunctionPort): boolean {
  const prototype = Reflect.getPrototypeOf(value);
  const cls = prototype === null ? undefined : constructorOf(prototype);
  return cls !== undefined && port.keptPlaceOf?.(value, cls) !== undefined;
}

/** Watches what an object has besides its properties. */
function watchState(value: object): readonly ChangeCheck[] | undefined {
  if (types.isMap(value) || types.isSet(value)) {
    return value.size > LONGEST_LIST ? undefined : [watchEntries(value)];
  }
  const summary = stateSummary(value);
  if (summary === undefined) return undefined;
  const before = summary();
  return before === undefined ? NOTHING : [() => Object.is(summary(), before)];
}
