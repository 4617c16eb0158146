import { join } from "node:path";
import { pathToFileURL } from "node:url";

const names = new WeakMap<object, string>();
const values = new Map<string, object>();

/**
 * Makes everything that a package exports travel by identity: the receiver uses its own instance of the same export.
 * Primitives are left out.
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

let registerRest: (() => void) | undefined;

/** Registers more exports when somebody asks for what is not registered: `register` loads them first. */
export function registerRuntimeExportsLater(register: () => void): void {
  registerRest = register;
}

/** Registers the exports that were left for later. */
export function loadRuntimeExports(): void {
  const register = registerRest;
  registerRest = undefined;
  register?.();
}

/** This process's own instance of an export of the runtime. */
export function runtimeExport(name: string): object | undefined {
  const value = values.get(name);
  if (value !== undefined || !name.startsWith("wool-ts")) return value;
  loadRuntimeExports();
  return values.get(name);
}

/**
 * A captured variable that some function assigns to. The functions that share the variable share the cell, so the
 * others see an assignment in one, here and at the receiver.
 */
export class Cell {
  v: unknown;

  constructor(v?: unknown) {
    this.v = v;
  }
}

registerRuntimeExports("wool-ts/functions", { Cell });

/**
 * The url of the file that this code is in. In a bundled program that is the bundle. In CommonJS, where `import.meta`
 * is empty, it comes from `__filename`.
 */
export const OWN_URL: string =
  typeof import.meta.url === "string"
    ? import.meta.url
    : pathToFileURL(typeof __filename === "string" ? __filename : join(process.cwd(), "program.js")).href;

/** The names of the built files that this code may be in, and of its source. */
const OWN_FILE = /\/(?:wool-[0-9A-Z]{8}\.c?js|wool-worker\.mjs|runtime-exports\.ts)$/;

/** True when a bundler put this code into a file of the user's program. */
export const IS_BUNDLED = !OWN_FILE.test(OWN_URL);
