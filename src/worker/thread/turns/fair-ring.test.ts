import { describe, expect, it } from "vitest";
import { FairRing, type TurnTaker } from "./fair-ring.ts";

interface Named extends TurnTaker {
  readonly name: string;
}

function turns(ring: FairRing<Named>, count: number): string {
  const names: string[] = [];
  for (let i = 0; i < count; i++) {
    names.push(ring.current?.name ?? "-");
    ring.pass();
  }
  return names.join(" ");
}

describe("FairRing", () => {
  const [greedy, polite] = [{}, {}];

  it("gives each party the same number of turns, and each of its members their part of those", () => {
    const ring = new FairRing<Named>();
    for (const name of ["g1", "g2", "g3"]) ring.add({ name, party: greedy });
    ring.add({ name: "p", party: polite });
    expect([ring.size, ring.parties]).toEqual([4, 2]);
    expect(turns(ring, 8)).toBe("g1 p g2 p g3 p g1 p");
  });

  it("lets one leave with its turn, or without", () => {
    const ring = new FairRing<Named>();
    const members = ["a", "b", "c"].map((name) => ({ name, party: greedy }));
    for (const member of members) ring.add(member);
    const other = { name: "p", party: polite };
    ring.add(other);
    ring.pass(true);
    expect(turns(ring, 4)).toBe("p b p c");
    ring.remove(other);
    ring.remove(other);
    expect([ring.size, ring.parties, turns(ring, 3)]).toEqual([2, 1, "b c b"]);
    for (const member of members) ring.remove(member);
    expect([ring.size, ring.parties, ring.current]).toEqual([0, 0, undefined]);
  });
});
