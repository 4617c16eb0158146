import type { Stability } from "../capture/index.ts";

/** Why something cannot travel, where it is, and what to write instead, as in the error of a call. */
export interface Refusal {
  /** The path to it, such as `fetchPage -> client -> socket`. */
  readonly path: string;
  readonly reason: string;
  /** What to write instead. */
  readonly fix: string;
}

/** One thing that travels with a function. */
export interface ExplainedPart {
  /** As in the path of an error: `limit`, `this`, `.cache`, `extends`. */
  readonly name: string;
  /**
   * How the function refers to it. `assigned variable`: some code assigns to it, so the functions that captured it
   * share it. `definition`: a superclass, the class of an instance, a computed key. `member`: a function that an object
   * holds. `bound`: a value passed to `bind`. `option`: an option of the routine.
   */
  readonly kind:
    | "variable"
    | "assigned variable"
    | "receiver"
    | "property"
    | "definition"
    | "member"
    | "bound"
    | "option";
  /** A short description of its value. */
  readonly value: string;
  /** `nothing`: it cannot travel, or something that it refers to cannot. */
  readonly by: "reference" | "value" | "nothing";
  /** Why it travels that way. */
  readonly reason: string;
  /**
   * Size in bytes as a separate payload, with everything that it refers to; 0 with `sameAs`, undefined when it cannot
   * travel.
   */
  readonly bytes: number | undefined;
  /** Size in bytes of the code that it needs, which is sent once to each worker; as with `bytes`. */
  readonly codeBytes: number | undefined;
  readonly refusal: Refusal | undefined;
  /** The path where the same object or function is already explained; it travels once. */
  readonly sameAs: string | undefined;
  /** The captured variables of a function, or the functions that an object holds. */
  readonly parts: readonly ExplainedPart[];
  /** How many of its parts are left out because there would be too many. */
  readonly omitted: number;
}

/** Describes what would travel with a function now. */
export interface Explanation {
  /** The start of the paths of errors. */
  readonly name: string;
  readonly kind: "function" | "class" | "routine";
  /** `nothing`: it cannot travel, or something that it captured cannot. */
  readonly by: "reference" | "value" | "nothing";
  /** Why it travels that way; why not, when it cannot. */
  readonly reason: string;
  /** How a cached copy of the function itself may become outdated; undefined when it cannot travel. */
  readonly stability: Stability | undefined;
  /** Size in bytes of its captured values and its own description; undefined when it cannot travel. */
  readonly bytes: number | undefined;
  /** Size in bytes of all code and names of modules, which are sent once to each worker; undefined when it cannot travel. */
  readonly codeBytes: number | undefined;
  readonly parts: readonly ExplainedPart[];
  /** How many of its parts are left out because there would be too many. */
  readonly omitted: number;
  readonly refusal: Refusal | undefined;
  /** Notes on the source where it probably does not do what was meant. */
  readonly notes: readonly string[];
}
