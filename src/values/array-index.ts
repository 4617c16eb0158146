/** The array index that `key` spells, or -1. */
export function arrayIndex(key: string | symbol): number {
  if (typeof key !== "string") return -1;
  const index = Number(key) >>> 0;
  return String(index) === key && index !== 2 ** 32 - 1 ? index : -1;
}
