/** Whether a value is an object or a function: it may have properties, and an identity. */
export function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
