import { inspect } from "node:util";

/** From this length on, asking for the names beside the elements is cheaper than listing all keys. */
const LISTED_LENGTH = 32;
/** Makes `inspect` show the properties of an array besides its elements, hidden ones too. */
export const NAMES_ONLY = {
  maxArrayLength: 0,
  maxStringLength: 0,
  depth: 0,
  showHidden: true,
  customInspect: false,
  showProxy: false,
  getters: false,
  colors: false,
  sorted: false,
  numericSeparator: false,
  compact: 3,
  breakLength: Number.POSITIVE_INFINITY,
} as const;

/**
 * True when an array has only the elements 0 to length - 1: no holes, no other properties. An accessor among the
 * elements is not noticed and will be called: checking each element would cost more than writing it.
 */
export function isPlainArray(array: readonly unknown[]): boolean {
  if (!Object.isExtensible(array)) return false;
  const length = array.length;
  if (length >= LISTED_LENGTH) return isLongPlainArray(array);
  const keys = Reflect.ownKeys(array);
  return keys.length === length + 1 && keys[length] === "length";
}

/** True for numbers of which the first, the last or the middle one is not an integer: they are smaller as float64. */
export function isFractions(array: readonly unknown[]): array is readonly number[] {
  const length = array.length;
  if (isInteger(array[0]) && isInteger(array[length >> 1]) && isInteger(array[length - 1])) return false;
  for (let index = 0; index < length; index++) if (typeof array[index] !== "number") return false;
  return true;
}

function isInteger(value: unknown): boolean {
  return typeof value === "number" && (value | 0) === value;
}

/** True for a property as an assignment creates it. */
export function isPlainProperty(property: PropertyDescriptor | undefined): property is PropertyDescriptor {
  return (
    property !== undefined &&
    property.writable === true &&
    property.enumerable === true &&
    property.configurable === true
  );
}

/** Listing the keys of a long array costs more than writing it; `inspect` finds the others without listing the indices. */
function isLongPlainArray(array: readonly unknown[]): boolean {
  const length = array.length;
  if (inspect(array, NAMES_ONLY) !== `[ ... ${length} more items, [length]: ${length} ]`) return false;
  for (let index = 0; index < length; index++) {
    if (array[index] === undefined && !Object.hasOwn(array, index)) return false;
  }
  return true;
}

/** True for two lists of the same texts. */
export function isSameList(known: readonly string[] | undefined, keys: readonly string[]): boolean {
  if (known === undefined || known.length !== keys.length) return false;
  for (let index = 0; index < keys.length; index++) if (known[index] !== keys[index]) return false;
  return true;
}
