import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LatestDeadline } from "./latest-deadline.ts";

describe("LatestDeadline", () => {
  it("knows the latest, whatever comes and goes", () => {
    const steps = fc.array(fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 50 })), { maxLength: 400 });
    fc.assert(
      fc.property(steps, (list) => {
        const deadlines = new LatestDeadline<number>();
        const model = new Map<number, number>();
        for (const [thing, time] of list) {
          if (model.has(thing)) {
            expect(deadlines.delete(thing)).toBe(model.delete(thing));
          } else {
            deadlines.add(thing, time);
            model.set(thing, time);
          }
          expect([deadlines.size, deadlines.latest]).toEqual([model.size, Math.max(0, ...model.values())]);
        }
      }),
    );
  });

  it("keeps nothing of what is gone, and takes little time with very many", () => {
    const deadlines = new LatestDeadline<number>();
    deadlines.add(-1, 1e12);
    for (let i = 0; i < 300_000; i++) deadlines.add(i, i);
    for (let i = 300_000 - 1; i >= 0; i--) deadlines.delete(i);
    expect([deadlines.size, deadlines.latest, deadlines.delete(5)]).toEqual([1, 1e12, false]);
  });
});
