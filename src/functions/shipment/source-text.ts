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

/** What a message calls a function or class: its name in quotes, unless it has none. */
export function titleOfFunction(fn: object): string {
  const name: unknown = Reflect.getOwnPropertyDescriptor(fn, "name")?.value;
  if (typeof name === "string" && name !== "") return `"${name}"`;
  return isClass(fn) ? "an anonymous class" : "an anonymous function";
}
