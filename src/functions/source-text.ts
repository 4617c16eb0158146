/** Any function or class, as far as taking it apart is concerned. */
export type AnyFunction = (...args: never[]) => unknown;

/** True for functions and classes. */
export function isFunction(value: object): value is AnyFunction {
  return typeof value === "function";
}

/** What `toString()` shows, whatever the function itself says. */
export function sourceTextOf(fn: object): string {
  return isFunction(fn) ? Function.prototype.toString.call(fn) : "";
}

/** True for what a `class` makes. */
export function isClass(fn: object): boolean {
  return /^class\b/.test(sourceTextOf(fn));
}
