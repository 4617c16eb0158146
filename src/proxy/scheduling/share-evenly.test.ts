import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shareEvenly, type Taker } from "./share-evenly.ts";

const taker = fc.record({ load: fc.nat(12), room: fc.nat(12) });
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** Task by task to the least full, the first of those. */
function oneByOne(takers: readonly Taker[], count: number): number[] {
  const shares = takers.map(() => 0);
  for (let rest = count; rest > 0; rest--) {
    let best = -1;
    for (const [i, { load, room }] of takers.entries()) {
      const share = shares[i] ?? 0;
      if (share >= room) continue;
      if (best < 0 || load + share < (takers[best]?.load ?? 0) + (shares[best] ?? 0)) best = i;
    }
    if (best < 0) break;
    shares[best] = (shares[best] ?? 0) + 1;
  }
  return shares;
}

/** Every way to give out as much as there is room for. */
function* everyWay(takers: readonly Taker[], count: number): Generator<number[]> {
  const [first, ...others] = takers;
  if (first === undefined) {
    if (count === 0) yield [];
    return;
  }
  for (let share = 0; share <= Math.min(first.room, count); share++) {
    for (const rest of everyWay(others, count - share)) yield [share, ...rest];
  }
}

/** The height of the fullest taker that got something. */
function highest(takers: readonly Taker[], shares: readonly number[]): number {
  return Math.max(0, ...shares.map((share, i) => (share === 0 ? 0 : share + (takers[i]?.load ?? 0))));
}

describe("shareEvenly", () => {
  it("gives out as much as there is room for, and no taker more than it can take", () => {
    fc.assert(
      fc.property(fc.array(taker, { maxLength: 10 }), fc.nat(200), (takers, count) => {
        const shares = shareEvenly(takers, count);
        expect(shares).toHaveLength(takers.length);
        expect(sum(shares)).toBe(Math.min(count, sum(takers.map(({ room }) => room))));
        for (const [i, share] of shares.entries()) {
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(takers[i]?.room ?? 0);
        }
      }),
    );
  });

  it("gives what giving one by one to the least full gives, earlier ones the odd task", () => {
    fc.assert(
      fc.property(fc.array(taker, { maxLength: 8 }), fc.nat(100), (takers, count) => {
        expect(shareEvenly(takers, count)).toEqual(oneByOne(takers, count));
      }),
      { numRuns: 500 },
    );
  });

  it("no other way leaves the fullest taker less full", () => {
    const small = fc.record({ load: fc.nat(6), room: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(small, { maxLength: 4 }), fc.nat(12), (takers, count) => {
        const shares = shareEvenly(takers, count);
        const best = highest(takers, shares);
        for (const other of everyWay(takers, sum(shares))) {
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
    expect(shareEvenly(takers, 1_000_000_001)).toEqual([750_000_001, 250_000_000]);
  });

  it("gives nothing to nobody", () => {
    expect(shareEvenly([], 5)).toEqual([]);
    expect(shareEvenly([{ load: 0, room: 0 }], 5)).toEqual([0]);
    expect(shareEvenly([{ load: 0, room: -3 }], 5)).toEqual([0]);
    expect(shareEvenly([{ load: 0, room: 5 }], 0)).toEqual([0]);
  });
});
