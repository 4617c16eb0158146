import { describe, expect, it } from "vitest";
import { FairQueue } from "./fair-queue.ts";

describe("FairQueue", () => {
  it("gives owners turns, and keeps the order of each", () => {
    const queue = new FairQueue<string, string>();
    for (const entry of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) queue.push(entry.charAt(0), entry);
    const taken = Array.from({ length: 8 }, () => queue.shift());
    expect(taken).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4", undefined]);
    expect(queue.size).toBe(0);
  });

  it("lets entries be taken out", () => {
    const queue = new FairQueue<string, number>();
    for (const entry of [1, 2, 3]) queue.push("a", entry);
    queue.push("b", 9);
    expect([
      queue.remove("a", (entry) => entry === 2),
      queue.remove("a", () => false),
      queue.remove("x", () => true),
    ]).toEqual([2, undefined, undefined]);
    expect(queue.remove("b", () => true)).toBe(9);
    expect([queue.size, queue.shift(), queue.shift(), queue.shift()]).toEqual([2, 1, 3, undefined]);
  });
});
