import type { GeneratorRun } from "./generator-run.ts";

/** A step that came before the generator was there, or a number of plain ones. */
type EarlyStep = ((run: GeneratorRun) => void) | { credit: number };

/** What a generator was asked for before it was there, in the order in which it came. */
export class EarlySteps {
  readonly #steps: EarlyStep[] = [];

  /** How many entries there are. */
  get size(): number {
    return this.#steps.length;
  }

  add(step: (run: GeneratorRun) => void): void {
    this.#steps.push(step);
  }

  /** Plain steps one after the other are one entry. Returns how many there are in it. */
  addCredit(steps: number): number {
    const last = this.#steps.at(-1);
    if (typeof last === "object") return (last.credit += steps);
    this.#steps.push({ credit: steps });
    return steps;
  }

  /** The generator is there. */
  applyTo(run: GeneratorRun): void {
    for (const step of this.#steps) {
      if (typeof step === "function") step(run);
      else run.credit(step.credit);
    }
  }
}
