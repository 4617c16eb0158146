/** Any function or class, as far as taking it apart is concerned. */
export type AnyFunction = (...args: never[]) => unknown;

/** True for functions and classes. */
export function isFunction(value: unknown): value is AnyFunction {
  return typeof value === "function";
}

/** The source text of a function, even if it has its own `toString()`. */
export function sourceTextOf(fn: object): string {
  return isFunction(fn) ? Function.prototype.toString.call(fn) : "";
}

/** True for classes. */
export function isClass(fn: object): boolean {
  return /^class\b/.test(sourceTextOf(fn));
}

/** The name of a function or class in messages: in quotes, unless it has none. */
export function titleOfFunction(fn: object): string {
  const name: unknown = Reflect.getOwnPropertyDescriptor(fn, "name")?.value;
  if (typeof name === "string" && name !== "") return `"${name}"`;
  return isClass(fn) ? "an anonymous class" : "an anonymous function";
}
