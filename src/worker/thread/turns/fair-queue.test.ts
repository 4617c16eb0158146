import { describe, expect, it } from "vitest";
import { FairQueue } from "./fair-queue.ts";

const owner = (party: object = {}) => ({ party });

describe("FairQueue", () => {
  it("gives owners turns, and keeps the order of each", () => {
    const queue = new FairQueue<{ party: object }, string>();
    const owners = { a: owner(), b: owner(), c: owner() };
    for (const name of ["a", "b", "c"] as const) {
      const count = { a: 4, b: 2, c: 1 }[name];
      for (let i = 1; i <= count; i++) queue.push(owners[name], `${name}${i}`);
    }
    const taken = Array.from({ length: 8 }, () => queue.shift());
    expect(taken).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4", undefined]);
    expect(queue.size).toBe(0);
  });

  it("gives a caller with many owners no more turns than another", () => {
    const queue = new FairQueue<{ party: object }, string>();
    const greedy = {};
    for (let i = 1; i <= 3; i++) queue.push(owner(greedy), `g${i}`);
    const polite = owner();
    for (let i = 1; i <= 3; i++) queue.push(polite, `p${i}`);
    expect(Array.from({ length: 6 }, () => queue.shift())).toEqual(["g1", "p1", "g2", "p2", "g3", "p3"]);
  });

  it("lets entries be taken out", () => {
    const queue = new FairQueue<{ party: object }, number>();
    const [a, b, x] = [owner(), owner(), owner()];
    for (const entry of [1, 2, 3]) queue.push(a, entry);
    queue.push(b, 9);
    expect([
      queue.remove(a, (entry) => entry === 2),
      queue.remove(a, () => false),
      queue.remove(x, () => true),
    ]).toEqual([2, undefined, undefined]);
    expect(queue.remove(b, () => true)).toBe(9);
    expect([queue.size, queue.shift(), queue.shift(), queue.shift()]).toEqual([2, 1, 3, undefined]);
  });
});
