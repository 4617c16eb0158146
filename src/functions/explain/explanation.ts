import type { Stability } from "../capture/index.ts";

/** Why something cannot travel, where it is, and what to write instead: what the error of a call would say. */
export interface Refusal {
  /** The way to it, such as `fetchPage -> client -> socket`. */
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
   * How the function leads to it. `assigned variable`: some code assigns to it, so that it is shared by the functions
   * that captured it. `definition`: a superclass, the class of an instance, a computed key. `member`: a function that
   * an object holds. `bound`: what `bind` was given. `option`: an option of the routine.
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
  /** What it is, in short. */
  readonly value: string;
  /** `nothing`: it cannot travel, or something that it leads to cannot. */
  readonly by: "reference" | "value" | "nothing";
  /** Why it travels that way. */
  readonly reason: string;
  /** Size in bytes as a payload of its own, with what it leads to; 0 with `sameAs`, undefined when it cannot travel. */
  readonly bytes: number | undefined;
  /** Size in bytes of the code that it needs, which is sent once to each worker; as with `bytes`. */
  readonly codeBytes: number | undefined;
  readonly refusal: Refusal | undefined;
  /** Where the same object or function is explained already; it travels once. */
  readonly sameAs: string | undefined;
  /** What a function captured in turn, or the functions that an object holds. */
  readonly parts: readonly ExplainedPart[];
  /** How many of its parts are left out because there would be too many. */
  readonly omitted: number;
}

/** What would travel if a function were shipped now. */
export interface Explanation {
  /** What the paths of errors begin with. */
  readonly name: string;
  readonly kind: "function" | "class" | "routine";
  /** `nothing`: it cannot travel, or something that it captured cannot. */
  readonly by: "reference" | "value" | "nothing";
  /** Why it travels that way; why not, when it cannot. */
  readonly reason: string;
  /** What a cached copy of it depends on, as far as the function itself is concerned; undefined when it cannot travel. */
  readonly stability: Stability | undefined;
  /** Size in bytes of what it captured, with its own description; undefined when it cannot travel. */
  readonly bytes: number | undefined;
  /** Size in bytes of all code and names of modules, which are sent once to each worker; undefined when it cannot travel. */
  readonly codeBytes: number | undefined;
  readonly parts: readonly ExplainedPart[];
  /** How many of its parts are left out because there would be too many. */
  readonly omitted: number;
  readonly refusal: Refusal | undefined;
  /** What the source probably does not mean as it is written. */
  readonly notes: readonly string[];
}
