import { inspect } from "node:util";
import { Cell } from "./cell.ts";
import { takeApart } from "./dismantle.ts";
import { type ModulePattern, override } from "./overrides.ts";
import { Borrowed, referenceOf } from "./references.ts";
import { type Dismantled, ShippingError } from "./shipment.ts";
import { isFunction } from "./source-text.ts";
import { type Stability, stability } from "./stability.ts";

/** Why something cannot travel, where it is, and what to write instead. */
export interface Refusal {
  readonly reason: string;
  readonly path: readonly string[];
  readonly fix: string;
}

/** One thing that travels with a function. */
export interface ExplainedPart {
  /** As in the path of an error: `limit`, `this`, `.cache`. */
  readonly name: string;
  /** `assigned variable`: some function assigns to it, so that it is shared by those that captured it. */
  readonly kind: "variable" | "assigned variable" | "receiver" | "property" | "definition";
  /** What it is, in short. */
  readonly value: string;
  readonly by: "reference" | "value";
  readonly reason: string;
  readonly refusal: Refusal | undefined;
}

/** What would travel if a function were shipped now. */
export interface Explanation {
  readonly name: string;
  /** `nothing`: it cannot travel. */
  readonly by: "reference" | "value" | "nothing";
  readonly reason: string;
  readonly stability: Stability | undefined;
  readonly parts: readonly ExplainedPart[];
  readonly refusal: Refusal | undefined;
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ShippingError)) throw error;
  return { reason: error.message, path: error.path, fix: error.fix };
}

function explainValue(name: string, kind: ExplainedPart["kind"], value: unknown): ExplainedPart {
  if (value instanceof Cell) return explainValue(name, "assigned variable", value.v);
  if (value instanceof Borrowed) return explainValue(name, kind, value.value);
  const base = {
    name,
    kind,
    value: inspect(value, { depth: 0, breakLength: Number.POSITIVE_INFINITY, getters: false }),
  };
  if (typeof value === "function") {
    try {
      const { way, reason } = takeApart(value);
      return { ...base, by: way, reason, refusal: undefined };
    } catch (error) {
      return { ...base, by: "value", reason: "it cannot travel", refusal: refusalOf(error) };
    }
  }
  if (typeof value === "object" && value !== null && referenceOf(value) !== undefined) {
    return { ...base, by: "reference", reason: "the receiver has the same one", refusal: undefined };
  }
  return { ...base, by: "value", reason: "a copy of what it is now", refusal: undefined };
}

function explainParts({ early, parts, labels }: Dismantled, capturedNames: ReadonlySet<string>): ExplainedPart[] {
  return [
    ...early.map((value) => explainValue("definition", "definition", value)),
    ...parts.map((value, index) => {
      const name = labels[index] ?? "";
      const kind = name === "this" ? "receiver" : capturedNames.has(name) ? "variable" : "property";
      return explainValue(name, kind, value);
    }),
  ];
}

/** Process-wide settings of how code travels, and what they lead to. */
export const shipping = {
  /** The code of the modules that match travels by value: a path relative to the root, a specifier, with `*` and `**`. */
  byValue(pattern: ModulePattern): void {
    override(pattern, "value");
  },
  /** Exports of the modules that match travel by reference, objects too. Never applies to the entry file. */
  byReference(pattern: ModulePattern): void {
    override(pattern, "reference");
  },
  /** What would travel with a function, how, and why; what is refused, and what to write instead. */
  explain(fn: object): Explanation {
    const name = isFunction(fn) ? fn.name : "";
    try {
      const { way, reason, shipment, captured } = takeApart(fn);
      const names = new Set(captured.map((value) => value.name));
      const parts = explainParts(shipment, names);
      return { name, by: way, reason, stability: stability(fn), parts, refusal: undefined };
    } catch (error) {
      const refusal = refusalOf(error);
      return { name, by: "nothing", reason: refusal.reason, stability: undefined, parts: [], refusal };
    }
  },
};
