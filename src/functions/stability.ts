import { dismantle } from "./dismantle.ts";

/**
 * What a cached shipment of a function depends on. `constant`: nothing that can change. `compare`: data that may have
 * been changed in place. `reread`: a variable that some code assigns to.
 */
export type Stability = "constant" | "compare" | "reread";

/** How a function's shipment may differ at its next call. */
export function stability(fn: object): Stability {
  const { parts } = dismantle(fn);
  return parts.every((part) => typeof part !== "object" || part === null) ? "constant" : "compare";
}
