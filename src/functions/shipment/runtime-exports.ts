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
