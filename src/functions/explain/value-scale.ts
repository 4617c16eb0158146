import { dismantle } from "../capture/index.ts";
import { type Dependency, ShippingError, type ShippingPolicy } from "../shipment/index.ts";
import type { Refusal } from "./explanation.ts";

/** What a value would be as a payload, or why it cannot be one. */
export type Weighed =
  | { readonly bytes: number | undefined; readonly dependencies: readonly Dependency[]; readonly refusal?: undefined }
  | { readonly refusal: Refusal };

/** How a value is to be weighed. */
export interface WeighOptions {
  /** What leads to the value, as in the path of an error. */
  readonly path: string;
  /** True when a function captured it. */
  readonly isCaptured: boolean;
  /** For a function: how it travels; what it captured goes by the rules. */
  readonly policy: ShippingPolicy;
}

/** What explanations need of the code that encodes values. */
export interface ValueScale {
  weigh(value: unknown, options: WeighOptions): Weighed;
  /** How an object with its own way to travel does that, in words; undefined for any other object. */
  wayOf(value: object): string | undefined;
}

/** What a `ShippingError` says, of something that `path` leads to. */
export function refusalOf({ path: steps, message, fix }: ShippingError, path: string): Refusal {
  return { path: [path, ...steps].join(" -> "), reason: message, fix };
}

// Without a codec only functions are known to be refused, and nothing has a size.
const functionsOnly: ValueScale = {
  weigh(value, { path, policy }) {
    if (typeof value !== "function") return { bytes: undefined, dependencies: [] };
    try {
      return { bytes: undefined, dependencies: dismantle(value, policy).dependencies };
    } catch (error) {
      if (!(error instanceof ShippingError)) throw error;
      return { refusal: refusalOf(error, path) };
    }
  },
  wayOf: () => undefined,
};

let scale = functionsOnly;

/** Says who knows sizes and refusals of values. A later registration replaces an earlier one. */
export function registerValueScale(how: ValueScale): void {
  scale = how;
}

/** The scale in use. */
export function valueScale(): ValueScale {
  return scale;
}
