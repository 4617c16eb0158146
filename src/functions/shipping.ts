import { dismantle } from "./dismantle.ts";
import { type PlainData, ShippingError } from "./shipment.ts";

/** One captured value of a function, and how it would travel. */
export interface ExplainedPart {
  readonly name: string;
  readonly kind: string;
}

/** What would travel if a function were shipped. */
export interface Explanation {
  readonly by: "reference" | "value" | "nothing";
  readonly head: PlainData;
  readonly captured: readonly ExplainedPart[];
  /** Why it cannot travel; undefined when it can. */
  readonly refusal: { readonly reason: string; readonly path: readonly string[]; readonly fix: string } | undefined;
}

/** Process-wide settings of how code travels, and what they lead to. */
export const shipping = {
  /** Code of the modules that match travels by value. */
  byValue(_pattern: string | RegExp): void {},
  /** Exports of the modules that match travel by reference. */
  byReference(_pattern: string | RegExp): void {},
  /** What would travel with a function, and why. */
  explain(fn: object): Explanation {
    try {
      const { head, parts, labels } = dismantle(fn);
      const captured = parts.map((part, index) => ({ name: labels[index] ?? "", kind: typeof part }));
      return { by: captured.length === 0 ? "reference" : "value", head, captured, refusal: undefined };
    } catch (error) {
      if (!(error instanceof ShippingError)) throw error;
      const refusal = { reason: error.message, path: error.path, fix: error.fix };
      return { by: "nothing", head: null, captured: [], refusal };
    }
  },
};
