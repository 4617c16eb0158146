import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { level, type Vessel } from "./level.ts";

const vessel = fc.record({ load: fc.nat(12), room: fc.nat(12) });
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** Task by task to the least full, the first of those. */
function oneByOne(vessels: readonly Vessel[], count: number): number[] {
  const shares = vessels.map(() => 0);
  for (let rest = count; rest > 0; rest--) {
    let best = -1;
    for (const [i, { load, room }] of vessels.entries()) {
      const share = shares[i] ?? 0;
      if (share >= room) continue;
      if (best < 0 || load + share < (vessels[best]?.load ?? 0) + (shares[best] ?? 0)) best = i;
    }
    if (best < 0) break;
    shares[best] = (shares[best] ?? 0) + 1;
  }
  return shares;
}

/** Every way to give out as much as there is room for. */
function* everyWay(vessels: readonly Vessel[], count: number): Generator<number[]> {
  const [first, ...others] = vessels;
  if (first === undefined) {
    if (count === 0) yield [];
    return;
  }
  for (let share = 0; share <= Math.min(first.room, count); share++) {
    for (const rest of everyWay(others, count - share)) yield [share, ...rest];
  }
}

/** The height of the fullest vessel that got something. */
function highest(vessels: readonly Vessel[], shares: readonly number[]): number {
  return Math.max(0, ...shares.map((share, i) => (share === 0 ? 0 : share + (vessels[i]?.load ?? 0))));
}

describe("level", () => {
  it("gives out as much as there is room for, and no vessel more than it can take", () => {
    fc.assert(
      fc.property(fc.array(vessel, { maxLength: 10 }), fc.nat(200), (vessels, count) => {
        const shares = level(vessels, count);
        expect(shares).toHaveLength(vessels.length);
        expect(sum(shares)).toBe(Math.min(count, sum(vessels.map(({ room }) => room))));
        for (const [i, share] of shares.entries()) {
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(vessels[i]?.room ?? 0);
        }
      }),
    );
  });

  it("gives what giving one by one to the least full gives, earlier ones the odd task", () => {
    fc.assert(
      fc.property(fc.array(vessel, { maxLength: 8 }), fc.nat(100), (vessels, count) => {
        expect(level(vessels, count)).toEqual(oneByOne(vessels, count));
      }),
      { numRuns: 500 },
    );
  });

  it("no other way leaves the fullest vessel less full", () => {
    const small = fc.record({ load: fc.nat(6), room: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(small, { maxLength: 4 }), fc.nat(12), (vessels, count) => {
        const shares = level(vessels, count);
        const best = highest(vessels, shares);
        for (const other of everyWay(vessels, sum(shares))) {
          expect(highest(vessels, other)).toBeGreaterThanOrEqual(best);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("takes large numbers in few steps", () => {
    const vessels = [
      { load: 0, room: 1e9 },
      { load: 500_000_000, room: 1e9 },
    ];
    expect(level(vessels, 1_000_000_001)).toEqual([750_000_001, 250_000_000]);
  });

  it("gives nothing to nobody", () => {
    expect(level([], 5)).toEqual([]);
    expect(level([{ load: 0, room: 0 }], 5)).toEqual([0]);
    expect(level([{ load: 0, room: -3 }], 5)).toEqual([0]);
    expect(level([{ load: 0, room: 5 }], 0)).toEqual([0]);
  });
});
