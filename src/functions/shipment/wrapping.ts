import type { ShippingPolicy } from "./shipment.ts";

/** A function inside a wrapper, such as a routine. */
export interface Wrapped {
  readonly fn: object;
  /** The name of the wrapper. */
  name(): string;
  /** How the function travels when the wrapper itself is shipped. */
  readonly policy: ShippingPolicy;
  /** Options of the user that travel with it. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** A function that wraps others, and its inverse. */
export interface Wrapping {
  /** Returns the wrapper of a function. */
  readonly wrap: object;
  /** Undefined for a value that is not such a wrapper. */
  unwrap(value: object): Wrapped | undefined;
}

let registered: Wrapping | undefined;

/** Lets functions inside exported wrappers travel by that export. A later registration replaces an earlier one. */
export function registerWrapping(wrapping: Wrapping): void {
  registered = wrapping;
}

/** The function inside a wrapper; undefined for everything else. */
export function wrappedBy(value: unknown): Wrapped | undefined {
  return typeof value === "function" ? registered?.unwrap(value) : undefined;
}

/** True for the function that makes wrappers. */
export function isWrap(value: unknown): boolean {
  return value !== undefined && value === registered?.wrap;
}
