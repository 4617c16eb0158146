import { type AnyFunction, isFunction, revivedSource } from "../shipment/index.ts";
import { promptFactory } from "./code-store.ts";

/**
 * A function that does what this one does, but returns its value or throws instead of making a promise. Exists for async
 * functions that were revived here and never await. Undefined for other functions.
 */
export function promptVersion(fn: AnyFunction): AnyFunction | undefined {
  const source = revivedSource(fn);
  if (source?.kind !== "function" || source.code === undefined) return undefined;
  const instance = promptFactory(source.code.hash)?.({ superclass: undefined, keys: [] });
  if (instance === undefined || !isFunction(instance.value)) return undefined;
  instance.fill(source.captured());
  // Stack traces show it.
  Object.defineProperty(instance.value, "name", { value: fn.name, configurable: true });
  return instance.value;
}
