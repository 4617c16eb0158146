import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import {
  isClass,
  isNotedConstructor,
  type RevivedSource,
  revivedSource,
  type ShippingPolicy,
} from "../shipment/index.ts";
import { referenceOf, universalReference } from "./references.ts";

/** Properties that every function has. */
const USUAL: ReadonlySet<string | symbol> = new Set(["name", "length", "prototype", "arguments", "caller"]);

/**
 * True for a function that goes back and belongs to what goes back with it: one that was passed here and has captured
 * objects, or variables that functions assign to, or one that has captured the object that holds it. Those are copies and
 * may have changed, and the original belongs to the objects of its own process. False for other functions, which go back
 * as the originals, and for constructors, whose instances need the original.
 */
export function isTied(fn: object, source: RevivedSource, policy: ShippingPolicy): boolean {
  if (source.kind === "class" || isNotedConstructor(fn)) return false;
  if (source.isPassed === true) return holdsObjects(fn, source, policy, new Set());
  return policy.holder !== undefined && source.captured().includes(policy.holder);
}

function holdsObjects(fn: object, source: RevivedSource, policy: ShippingPolicy, seen: Set<object>): boolean {
  seen.add(fn);
  if (Reflect.ownKeys(fn).some((key) => !USUAL.has(key))) return true;
  const home = source.home?.();
  const values = isObject(home) ? [...source.captured(), home] : source.captured();
  return values.some((value) => isObject(value) && !seen.has(value) && isOfPayload(value, policy, seen));
}

/** True for a value that is in the payload itself. */
function isOfPayload(value: object, policy: ShippingPolicy, seen: Set<object>): boolean {
  if (typeof value !== "function" || types.isProxy(value)) return referenceOf(value, policy) === undefined;
  if (universalReference(value) !== undefined || isClass(value)) return false;
  const source = revivedSource(value);
  if (source !== undefined) return source.kind !== "class" && holdsObjects(value, source, policy, seen);
  return referenceOf(value, policy) === undefined;
}
