import type { Dependency, ShippingPolicy } from "../shipment/index.ts";
import type { Refusal } from "./explanation.ts";

/** The size of a value as a payload, or why it cannot travel. */
export type Weighed =
  | { readonly bytes: number | undefined; readonly dependencies: readonly Dependency[]; readonly refusal?: undefined }
  | { readonly refusal: Refusal };

/** How to weigh a value. */
export interface WeighOptions {
  /** The path to the value, as in an error. */
  readonly path: string;
  /** True when a function captured it. */
  readonly isCaptured: boolean;
  /** For a function: how it travels; its captured values follow the rules. */
  readonly policy: ShippingPolicy;
}

/** What explanations need from the code that encodes values. */
export interface ValueScale {
  weigh(value: unknown, options: WeighOptions): Weighed;
  /** Describes how an object that travels in its own way does so; undefined for any other object. */
  wayOf(value: object): string | undefined;
}

let scale: ValueScale | undefined;

/** Registers the code that knows sizes and refusals of values. A later registration replaces an earlier one. */
export function registerValueScale(how: ValueScale): void {
  scale = how;
}

/** The scale that was registered; undefined without one. */
export function registeredScale(): ValueScale | undefined {
  return scale;
}
