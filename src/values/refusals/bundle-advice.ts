import { types } from "node:util";
import { bundledOrigin, isCell } from "../function-port.ts";
import { ownProperty } from "../own-property.ts";

const OUTSIDE = 'leave packages out of it (esbuild: packages: "external"), and workers import them by themselves';

/**
 * What to do about a value that cannot travel, when it, or what leads to it, is code of a package inside of a bundle.
 * `values` start with the one that cannot travel. Empty when no bundle has to do with it.
 */
export function bundleAdvice(values: Iterable<unknown>): string {
  let advice = "";
  const seen = new Set<object>();
  for (const value of values) {
    const code = codeOf(value);
    if (code === undefined || seen.has(code)) continue;
    seen.add(code);
    const origin = bundledOrigin(code);
    if (origin === undefined) continue;
    const { bundle, module } = origin;
    if (module === undefined) {
      advice ||= ` This code is in the bundle ${bundle}: if it is that of a package, ${OUTSIDE}.`;
    } else if (/(?:^|[\\/])node_modules[\\/]/.test(module)) {
      return ` This is code of ${module} inside of the bundle ${bundle}: ${OUTSIDE}.`;
    }
  }
  return advice;
}

/** The function that a value is, or the class that made it. */
function codeOf(value: unknown): object | undefined {
  if (typeof value === "function") return value;
  if (typeof value !== "object" || value === null || types.isProxy(value) || isCell(value)) return undefined;
  const prototype: object | null = Object.getPrototypeOf(value);
  const constructor = prototype === null ? undefined : ownProperty(prototype, "constructor")?.value;
  return typeof constructor === "function" ? constructor : undefined;
}
