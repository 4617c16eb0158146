import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { spreadEvenly, type Taker } from "./spread-evenly.ts";

const taker = fc.record({ load: fc.nat(12), room: fc.nat(12) });
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** Gives each task to the taker with the fewest tasks, the first of those. */
function oneByOne(takers: readonly Taker[], count: number): number[] {
  const portions = takers.map(() => 0);
  for (let rest = count; rest > 0; rest--) {
    let best = -1;
    for (const [i, { load, room }] of takers.entries()) {
      const portion = portions[i] ?? 0;
      if (portion >= room) continue;
      if (best < 0 || load + portion < (takers[best]?.load ?? 0) + (portions[best] ?? 0)) best = i;
    }
    if (best < 0) break;
    portions[best] = (portions[best] ?? 0) + 1;
  }
  return portions;
}

/** Every way to give out as many tasks as there is room for. */
function* everyWay(takers: readonly Taker[], count: number): Generator<number[]> {
  const [first, ...others] = takers;
  if (first === undefined) {
    if (count === 0) yield [];
    return;
  }
  for (let portion = 0; portion <= Math.min(first.room, count); portion++) {
    for (const rest of everyWay(others, count - portion)) yield [portion, ...rest];
  }
}

/** The height of the fullest taker that got something. */
function highest(takers: readonly Taker[], portions: readonly number[]): number {
  return Math.max(0, ...portions.map((portion, i) => (portion === 0 ? 0 : portion + (takers[i]?.load ?? 0))));
}

describe("spreadEvenly", () => {
  it("gives out as much as there is room for, and no taker more than it can take", () => {
    fc.assert(
      fc.property(fc.array(taker, { maxLength: 10 }), fc.nat(200), (takers, count) => {
        const portions = spreadEvenly(takers, count);
        expect(portions).toHaveLength(takers.length);
        expect(sum(portions)).toBe(Math.min(count, sum(takers.map(({ room }) => room))));
        for (const [i, portion] of portions.entries()) {
          expect(portion).toBeGreaterThanOrEqual(0);
          expect(portion).toBeLessThanOrEqual(takers[i]?.room ?? 0);
        }
      }),
    );
  });

  it("gives what giving one by one to the least full gives, earlier ones the odd task", () => {
    fc.assert(
      fc.property(fc.array(taker, { maxLength: 8 }), fc.nat(100), (takers, count) => {
        expect(spreadEvenly(takers, count)).toEqual(oneByOne(takers, count));
      }),
      { numRuns: 500 },
    );
  });

  it("no other way leaves the fullest taker less full", () => {
    const small = fc.record({ load: fc.nat(6), room: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(small, { maxLength: 4 }), fc.nat(12), (takers, count) => {
        const portions = spreadEvenly(takers, count);
        const best = highest(takers, portions);
        for (const other of everyWay(takers, sum(portions))) {
          expect(highest(takers, other)).toBeGreaterThanOrEqual(best);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("takes large numbers in few steps", () => {
    const takers = [
      { load: 0, room: 1e9 },
      { load: 500_000_000, room: 1e9 },
    ];
    expect(spreadEvenly(takers, 1_000_000_001)).toEqual([750_000_001, 250_000_000]);
  });

  it("gives nothing to nobody", () => {
    expect(spreadEvenly([], 5)).toEqual([]);
    expect(spreadEvenly([{ load: 0, room: 0 }], 5)).toEqual([0]);
    expect(spreadEvenly([{ load: 0, room: -3 }], 5)).toEqual([0]);
    expect(spreadEvenly([{ load: 0, room: 5 }], 0)).toEqual([0]);
  });
});
