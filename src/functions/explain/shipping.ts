import { type ModulePattern, override } from "../shipment/index.ts";
import { type ExplainOptions, explain } from "./explain.ts";
import type { Explanation } from "./explanation.ts";

/** Process-wide settings for how code travels, and explanations of the result. */
export const shipping = {
  /** The code of the modules that match travels by value: a path relative to the root, a specifier, with `*` and `**`. */
  byValue(pattern: ModulePattern): void {
    override(pattern, "value");
  },
  /** Exports of the modules that match travel by reference, objects too. Never applies to the entry file. */
  byReference(pattern: ModulePattern): void {
    override(pattern, "reference");
  },
  /**
   * Explains what would travel with a function, a class or a routine: how, its size, and why; what is refused, and what
   * to write instead. Sends nothing.
   */
  explain(fn: object, options: ExplainOptions = {}): Explanation {
    return explain(fn, options);
  },
};
