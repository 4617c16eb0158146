/** True for functions that are not written in JavaScript. */
export function isNativeCode(fn: object): boolean {
  return typeof fn === "function" && Function.prototype.toString.call(fn).endsWith("{ [native code] }");
}
