import { join } from "node:path";
import { pathToFileURL } from "node:url";

const names = new WeakMap<object, string>();
const values = new Map<string, object>();

/**
 * Makes everything a package exports travel by identity: at the other side it meets that process's own instance of
 * the same export. Primitives are left out.
 */
export function registerRuntimeExports(packageName: string, exports: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(exports)) {
    if ((typeof value !== "object" || value === null) && typeof value !== "function") continue;
    const name = `${packageName}#${key}`;
    values.set(name, value);
    if (!names.has(value)) names.set(value, name);
  }
}

/** The name under which a value is registered; undefined when it is not an export of the runtime. */
export function runtimeNameOf(value: object): string | undefined {
  return names.get(value);
}

/** This process's own instance of an export of the runtime. */
export function runtimeExport(name: string): object | undefined {
  return values.get(name);
}

/**
 * A captured variable that some function assigns to. The functions that share the variable share the cell, so an
 * assignment in one is seen by the others, here as at the other side.
 */
export class Cell {
  v: unknown;

  constructor(v?: unknown) {
    this.v = v;
  }
}

registerRuntimeExports("wool-ts/functions", { Cell });

/**
 * The url of the file that this code is in. That is the bundle when a program was bundled; as CommonJS, where
 * `import.meta` is empty, Node tells it in `__filename`.
 */
export const OWN_URL: string =
  typeof import.meta.url === "string"
    ? import.meta.url
    : pathToFileURL(typeof __filename === "string" ? __filename : join(process.cwd(), "program.js")).href;

/** What the build calls the files that this code may be in, and what its source is called. */
const OWN_FILE = /\/(?:wool-[0-9A-Z]{8}\.c?js|wool-worker\.mjs|runtime-exports\.ts)$/;

/** True when a bundler put this code into a file of the user's program. */
export const IS_BUNDLED = !OWN_FILE.test(OWN_URL);
