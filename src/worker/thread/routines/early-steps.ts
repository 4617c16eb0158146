import type { GeneratorRun } from "./generator-run.ts";

/** A step that came before the generator was made, or a number of plain ones. */
type EarlyStep = ((run: GeneratorRun) => void) | { credit: number };

/** The steps that came before the generator was made, in their order. */
export class EarlySteps {
  readonly #steps: EarlyStep[] = [];

  /** How many entries there are. */
  get size(): number {
    return this.#steps.length;
  }

  add(step: (run: GeneratorRun) => void): void {
    this.#steps.push(step);
  }

  /** Adds plain steps; consecutive ones share an entry. Returns how many that entry has. */
  addCredit(steps: number): number {
    const last = this.#steps.at(-1);
    if (typeof last === "object") return (last.credit += steps);
    this.#steps.push({ credit: steps });
    return steps;
  }

  /** The generator has been made: gives it the steps. */
  applyTo(run: GeneratorRun): void {
    for (const step of this.#steps) {
      if (typeof step === "function") step(run);
      else run.credit(step.credit);
    }
  }
}
