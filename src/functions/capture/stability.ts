import { types } from "node:util";
import { isFunction, isRecord, type PlainData, type ShippingPolicy } from "../shipment/index.ts";
import { usesAltered } from "./altered-functions.ts";
import { dismantleWithReason } from "./dismantle.ts";
import { factsOf, hasFacts } from "./function-facts.ts";
import { Borrowed, SharedExport } from "./references.ts";

/**
 * What a cached shipment of a function depends on. `constant`: nothing that can change. `compare`: data that may have
 * been changed in place. `reread`: a variable that some code assigns to, so that the function must be taken apart again.
 */
export type Stability = "constant" | "compare" | "reread";

const STANDARD_KEYS: ReadonlySet<string | symbol> = new Set(["length", "name", "prototype", "arguments", "caller"]);

/**
 * How the shipment of a function may be another one at its next call, as far as the function itself is concerned: what
 * it captured has a stability of its own. Throws `ShippingError` when the function cannot travel.
 */
export function stability(fn: object, policy: ShippingPolicy = {}): Stability {
  const { way, captured, shipment } = dismantleWithReason(fn, policy);
  if (way === "reference") return "constant";
  if (captured.some(({ isFixed }) => !isFixed)) return "reread";
  if (shipment.parts.some((part) => !isFixedValue(part, 0)) || hasOwnState(fn)) return "compare";
  if (hasPrivateStatics(shipment.head) || mayBeAltered(fn)) return "compare";
  return "constant";
}

/** Only a class itself shows what they are, each time that it is taken apart. */
function hasPrivateStatics(head: PlainData): boolean {
  return isRecord(head) && "privateStatics" in head;
}

function mayBeAltered(fn: object): boolean {
  return isFunction(fn) && hasFacts(fn) && usesAltered(factsOf(fn).site);
}

/** Static fields, properties of a function: what may be assigned to on the function object itself. */
function hasOwnState(fn: object): boolean {
  return Reflect.ownKeys(fn).some((key) => {
    if (STANDARD_KEYS.has(key)) return false;
    const value: unknown = Reflect.getOwnPropertyDescriptor(fn, key)?.value;
    return typeof value !== "function";
  });
}

const MAX_DEPTH = 8;

/** True for primitives, functions, references, and frozen data all the way down. */
function isFixedValue(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (value instanceof Borrowed || value instanceof SharedExport || types.isModuleNamespaceObject(value)) return true;
  if (depth === MAX_DEPTH || types.isProxy(value) || !Object.isFrozen(value) || isFunction(value)) return false;
  const prototype = Reflect.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && prototype !== Array.prototype) return false;
  return Reflect.ownKeys(value).every((key) => {
    const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
    return descriptor !== undefined && "value" in descriptor && isFixedValue(descriptor.value, depth + 1);
  });
}
