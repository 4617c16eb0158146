/** Whether a value is an object or a function: it may have properties, and an identity. */
export function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Whether a value is an object with properties of its own: no array and no function. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Whether a value is an abort signal, of Node.js or of another implementation: test runners with a DOM replace the
 * global class, and such programs have both.
 */
export function isAbortSignal(value: unknown): value is AbortSignal {
  if (value instanceof AbortSignal) return true;
  if (!isRecord(value) || !("aborted" in value)) return false;
  for (let holder: unknown = value; isRecord(holder); holder = Object.getPrototypeOf(holder)) {
    const constructor: unknown = Object.getOwnPropertyDescriptor(holder, "constructor")?.value;
    if (typeof constructor === "function" && constructor.name === "AbortSignal") return true;
  }
  return false;
}
