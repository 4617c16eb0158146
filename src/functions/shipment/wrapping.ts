import type { ShippingPolicy } from "./shipment.ts";

/** A function inside of something that stands for it, such as a routine. */
export interface Wrapped {
  readonly fn: object;
  /** What the wrapper is called. */
  name(): string;
  /** How the function travels when the wrapper itself is shipped. */
  readonly policy: ShippingPolicy;
  /** What travels along because the user asked for it. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** A function that puts others into wrappers, and the way back. */
export interface Wrapping {
  /** Called with a function it returns the wrapper. */
  readonly wrap: object;
  /** Undefined for what is not such a wrapper. */
  unwrap(value: object): Wrapped | undefined;
}

let registered: Wrapping | undefined;

/** Makes a function that a module exports inside of a wrapper known by that export. A later registration replaces an earlier one. */
export function registerWrapping(wrapping: Wrapping): void {
  registered = wrapping;
}

/** What is inside of a wrapper; undefined for everything else. */
export function wrappedBy(value: unknown): Wrapped | undefined {
  return typeof value === "function" ? registered?.unwrap(value) : undefined;
}

/** True for the function that makes wrappers. */
export function isWrap(value: unknown): boolean {
  return value !== undefined && value === registered?.wrap;
}
