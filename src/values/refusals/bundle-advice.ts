import { types } from "node:util";
import { bundledOrigin, isCell } from "../function-port.ts";
import { ownProperty } from "../own-property.ts";

const OUTSIDE = 'leave packages out of it (esbuild: packages: "external"), and workers import them by themselves';

/**
 * Advice for a value that cannot travel, when it or a value on the path to it is code of a package inside a bundle.
 * `values` starts with the one that cannot travel. Empty when no bundle is involved.
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
      advice ||= ` This code is in the bundle ${bundle}: if it belongs to a package, ${OUTSIDE}.`;
    } else if (/(?:^|[\\/])node_modules[\\/]/.test(module)) {
      return ` This is code of ${module} inside the bundle ${bundle}: ${OUTSIDE}.`;
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
