import type { Dependency } from "../shipment/index.ts";
import type { ModuleReference } from "./export-places.ts";

const shipped = new Map<string, Map<string, WeakRef<WeakKey>>>();

/** Remembers a value that this process sent as an export, so that it is recognised when it comes back. */
export function noteShipped(value: WeakKey, { module, path, wrapper }: ModuleReference): void {
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
