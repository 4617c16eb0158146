import { dismantle, referenceOf, stability } from "../functions/index.ts";
import { routineSpecOf } from "./routine-registry.ts";

/**
 * Whether a function, with everything that it captured, is the same at every call: it captured nothing but primitive
 * values, frozen data, what both sides have anyway, and functions of the same kind.
 */
export function isConstant(value: unknown, seen: Set<object> = new Set()): boolean {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return true;
  if (seen.has(value)) return true;
  seen.add(value);
  if (referenceOf(value) !== undefined) return true;
  const spec = routineSpecOf(value);
  if (spec !== undefined) return isConstant(spec.fn, seen) && isConstant(spec.options, seen);
  if (typeof value === "function") {
    if (stability(value) !== "constant") return false;
    const { early, parts } = dismantle(value);
    return early.every((part) => isConstant(part, seen)) && parts.every((part) => isConstant(part, seen));
  }
  if (!Object.isFrozen(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return false;
  return Reflect.ownKeys(value).every((key) => {
    const property = Reflect.getOwnPropertyDescriptor(value, key);
    return property !== undefined && "value" in property && isConstant(property.value, seen);
  });
}
