import type { Dependency } from "../shipment/index.ts";
import type { ModuleReference } from "./export-places.ts";

const shipped = new Map<string, Map<string, WeakRef<WeakKey>>>();

/** Remembers a value that this process sent as an export, so that it is recognised when it comes back. */
export function noteShipped(value: WeakKey, reference: ModuleReference): void {
  const { module, path, wrapper } = reference;
  noteOpened(value, reference, "itself");
  const exports = shipped.get(module.hash) ?? new Map<string, WeakRef<WeakKey>>();
  shipped.set(module.hash, exports);
  const key = shippedKey(path, wrapper !== undefined);
  if (exports.get(key)?.deref() !== value) exports.set(key, new WeakRef(value));
}

function shippedKey(path: readonly string[], isWrapped: boolean): string {
  return JSON.stringify([path, isWrapped]);
}

/** The value that this process sent as that export, or as wrapped in it; undefined if there is none. */
export function shippedExport(moduleHash: string, path: readonly string[], isWrapped: boolean): WeakKey | undefined {
  return shipped.get(moduleHash)?.get(shippedKey(path, isWrapped))?.deref();
}

const received = new Map<string, Dependency>();

/** Remembers that this process has loaded a file under a name from another process: it keeps that name. */
export function noteLoaded(path: string, module: Dependency): void {
  if (!received.has(path)) received.set(path, module);
}

/** The name under which another process named the file at `path`; undefined without one. */
export function receivedName(path: string): Dependency | undefined {
  return received.get(path);
}

/** What code from another process uses of a module of this one: an export, or a variable that need not be exported. */
export interface OpenedExport {
  readonly reference: ModuleReference;
  readonly form: "itself" | "variable" | "live-variable";
}

const opened = new WeakMap<WeakKey, OpenedExport>();

/**
 * Remembers an object that stands in a captured variable because another process has named it. Code that has it there
 * travels on with the name: in the next process, too, the functions of the module use that process's own.
 */
export function noteOpened(value: WeakKey, reference: ModuleReference, form: OpenedExport["form"]): void {
  if (typeof value === "object" && !opened.has(value)) opened.set(value, { reference, form });
}

/** The name of an object that was passed to `noteOpened`; undefined for everything else. */
export function openedAs(value: object): OpenedExport | undefined {
  return opened.get(value);
}
