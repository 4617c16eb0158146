import { types } from "node:util";
import { isCell } from "../function-port.ts";
import { travellerKindOf } from "../traveller.ts";

/** The methods that change the internal state of an object. Freezing it does not prevent that. */
const mutators: readonly { is(value: object): boolean; readonly names: readonly string[]; readonly copy: string }[] = [
  { is: types.isMap, names: ["set", "delete", "clear"], copy: "new Map(map)" },
  { is: types.isSet, names: ["add", "delete", "clear"], copy: "new Set(set)" },
  {
    is: types.isDate,
    names: Object.getOwnPropertyNames(Date.prototype).filter((name) => name.startsWith("set")),
    copy: "new Date(date)",
  },
];

/** The functions that replace those methods, by name. */
const guards = mutators.map(({ names, copy }) => new Map(names.map((name) => [name, guard(name, copy)])));
const allGuards: ReadonlySet<unknown> = new Set(guards.flatMap((each) => [...each.values()]));

function guard(name: string, copy: string): () => never {
  return () => {
    throw new TypeError(`${name}() would change a shared value, which every task sees: change a copy, such as ${copy}`);
  };
}

/** True for a property that only protects a shared value from changes. It does not travel. */
export function isGuard({ value }: { readonly value?: unknown }): boolean {
  return allGuards.has(value);
}

/**
 * Freezes the objects that were made from a payload. Binary data cannot be frozen, and private fields and the state of
 * other built-in objects can still be changed by their own methods. Functions and travellers are left alone.
 */
export function freezeMade(made: readonly unknown[], isKept: (object: object) => boolean): void {
  for (const value of made) {
    if (typeof value !== "object" || value === null || isKept(value)) continue;
    if (isCell(value) || isBinary(value) || travellerKindOf(value) !== undefined) continue;
    freeze(value);
  }
}

function freeze(value: object): void {
  const kind = mutators.findIndex(({ is }) => is(value));
  if (kind >= 0) {
    // A frozen object cannot get guards.
    if (Object.isExtensible(value)) for (const [name, own] of guards[kind] ?? []) define(value, name, own);
  } else if (types.isRegExp(value) && (value.global || value.sticky)) {
    // Using such an expression changes its `lastIndex`.
    Object.preventExtensions(value);
    return;
  }
  Object.freeze(value);
}

function define(value: object, name: string, own: () => never): void {
  if (!Object.hasOwn(value, name)) Object.defineProperty(value, name, { value: own });
}

function isBinary(value: object): boolean {
  return types.isAnyArrayBuffer(value) || types.isArrayBufferView(value);
}
