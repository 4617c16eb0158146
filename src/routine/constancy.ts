import { dismantle, referenceOf, type ShippingPolicy, stability } from "../functions/index.ts";
import { routineSpecOf } from "./routine-registry.ts";

/**
 * Whether a function, with everything that it captured, is the same at every call: it captured only primitive values,
 * frozen data, values that both sides have, and functions of the same kind.
 *
 * @param policy - how captured values travel
 * @param own - how the function itself travels
 */
export function isConstant(
  value: unknown,
  policy: ShippingPolicy = {},
  own: ShippingPolicy = policy,
  seen: Set<object> = new Set(),
): boolean {
  const isPartConstant = (part: unknown): boolean => isConstant(part, policy, policy, seen);
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return true;
  if (seen.has(value)) return true;
  seen.add(value);
  if (referenceOf(value, own) !== undefined) return true;
  const spec = routineSpecOf(value);
  if (spec !== undefined) return isPartConstant(spec.fn) && isPartConstant(spec.options);
  if (typeof value === "function") {
    if (stability(value, own) !== "constant") return false;
    const { early, parts } = dismantle(value, own);
    return early.every(isPartConstant) && parts.every(isPartConstant);
  }
  if (!Object.isFrozen(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return false;
  return Reflect.ownKeys(value).every((key) => {
    const property = Reflect.getOwnPropertyDescriptor(value, key);
    return property !== undefined && "value" in property && isPartConstant(property.value);
  });
}
