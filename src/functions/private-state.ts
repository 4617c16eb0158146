import type { PrivateState } from "./shipment.ts";

/** The private fields of an object; empty for the common object that has none. */
export function privatesOf(_object: object): PrivateState[] {
  return [];
}

/** Sets the private fields of an object that `instanceShell` made. */
export function restorePrivates(_object: object, _state: readonly PrivateState[]): void {}

/** An instance of a class with private members, none of them set yet; undefined for a class without. */
export function instanceShell(_cls: object): object | undefined {
  return undefined;
}
