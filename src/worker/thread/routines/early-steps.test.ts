import { expect, it } from "vitest";
import { EarlySteps } from "./early-steps.ts";
import type { GeneratorRun } from "./generator-run.ts";

it("keeps the order of steps, and plain ones one after the other as one", () => {
  const early = new EarlySteps();
  expect([early.addCredit(2), early.addCredit(3)]).toEqual([2, 5]);
  const told: unknown[] = [];
  early.add(() => told.push("step"));
  for (let i = 0; i < 1000; i++) early.addCredit(1);
  expect(early.size).toBe(3);
  early.applyTo({ credit: (steps: number) => told.push(steps) } as unknown as GeneratorRun);
  expect(told).toEqual([5, "step", 1000]);
});
