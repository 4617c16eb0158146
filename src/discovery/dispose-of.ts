import { isObject } from "../checks/index.ts";

/** Disposes of a value if it is disposable. */
export async function disposeOf(value: unknown): Promise<void> {
  if (!isObject(value)) return;
  if (isAsyncDisposable(value)) await value[Symbol.asyncDispose]();
  else if (isDisposable(value)) value[Symbol.dispose]();
}

function isAsyncDisposable(value: object): value is AsyncDisposable {
  return hasMethod(value, Symbol.asyncDispose);
}

function isDisposable(value: object): value is Disposable {
  return hasMethod(value, Symbol.dispose);
}

/** Whether an object has a method of this name. */
export function hasMethod(value: object, name: PropertyKey): boolean {
  return typeof Reflect.get(value, name) === "function";
}
