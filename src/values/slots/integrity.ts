import { MalformedPayload } from "../bytes/index.ts";
import { ownProperty } from "../own-property.ts";

/** How far an object is closed to change: nothing, no new properties, no changed attributes, no changed values. */
export const EXTENSIBLE = 0;
const NON_EXTENSIBLE = 1;
export const SEALED = 2;
export const FROZEN = 3;

/** How far `value` is closed to change. */
export function integrityCode(value: object): number {
  if (Object.isExtensible(value)) return EXTENSIBLE;
  // V8 reports an empty array as frozen even if its length is writable.
  const isOpenArray = Array.isArray(value) && ownProperty(value, "length")?.writable === true;
  if (Object.isFrozen(value) && !isOpenArray) return FROZEN;
  return Object.isSealed(value) ? SEALED : NON_EXTENSIBLE;
}

/** Closes `value` that far. Throws `MalformedPayload` when that is impossible, as for a view on bytes. */
export function close(value: object, integrity: number): void {
  try {
    if (integrity === FROZEN) Object.freeze(value);
    else if (integrity === SEALED) Object.seal(value);
    else if (integrity === NON_EXTENSIBLE) Object.preventExtensions(value);
  } catch (error) {
    throw new MalformedPayload("the payload freezes or seals an object that does not allow it", { cause: error });
  }
}
