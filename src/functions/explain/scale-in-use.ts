import { dismantle } from "../capture/index.ts";
import { ShippingError } from "../shipment/index.ts";
import type { Refusal } from "./explanation.ts";
import { registeredScale, type ValueScale } from "./value-scale.ts";

/** A `ShippingError` as a refusal of the value at `path`. */
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

/** The scale in use. */
export function valueScale(): ValueScale {
  return registeredScale() ?? functionsOnly;
}
