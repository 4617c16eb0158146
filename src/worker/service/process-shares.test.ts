import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { KeptShare } from "../shared/index.ts";
import { ProcessShares } from "./process-shares.ts";

const BUDGET = 100;
let told: [lane: number, order: string, hash: string][];
let shares: ProcessShares;

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
  told = [];
  shares = new ProcessShares(BUDGET, (lane, { order, hash }) => told.push([lane, order, hash]));
});
afterEach(() => {
  vi.useRealTimers();
});

function kept(bytes: number, use = new SharedArrayBuffer(8)): KeptShare {
  return { payload: { length: bytes, large: [], rest: new SharedArrayBuffer(0) }, file: undefined, use };
}

function want(lane: number, hash: string, bytes = 40): void {
  shares.hear(lane, { kind: "share", notice: "want", hash, bytes });
}

/** A thread wants a value, gets it and uses it. Returns the memory with the time of its last use. */
function fetch(lane: number, hash: string, bytes = 40): Float64Array {
  const share = kept(bytes);
  want(lane, hash, bytes);
  shares.hear(lane, { kind: "share", notice: "have", hash, kept: share });
  const use = new Float64Array(share.use);
  use[0] = Date.now();
  vi.advanceTimersByTime(1);
  return use;
}

function take(): typeof told {
  return told.splice(0);
}

describe("a value that several threads want", () => {
  it("is fetched by the first and handed to the others, also to those that come later", () => {
    want(0, "a");
    want(1, "a");
    want(2, "a");
    expect(take()).toEqual([[0, "fetch", "a"]]);
    shares.hear(0, { kind: "share", notice: "have", hash: "a", kept: kept(40) });
    expect(take()).toEqual([
      [1, "take", "a"],
      [2, "take", "a"],
    ]);
    want(3, "a");
    expect(take()).toEqual([[3, "take", "a"]]);
    expect(shares.bytes).toBe(40);
  });

  it("is fetched by the next when the first cannot, and by nobody when none is left", () => {
    want(0, "a");
    want(1, "a");
    take();
    shares.hear(0, { kind: "share", notice: "failed", hash: "a" });
    expect(take()).toEqual([[1, "fetch", "a"]]);
    // Only the thread that was asked counts.
    shares.hear(0, { kind: "share", notice: "failed", hash: "a" });
    expect(take()).toEqual([]);
    shares.hear(1, { kind: "share", notice: "failed", hash: "a" });
    expect(take()).toEqual([]);
    want(0, "a");
    expect(take()).toEqual([[0, "fetch", "a"]]);
  });

  it("is fetched by the next when the thread of the first is gone, and stays when it had come", () => {
    want(0, "a");
    want(1, "a");
    fetch(0, "b");
    take();
    shares.lost(0);
    expect(take()).toEqual([[1, "fetch", "a"]]);
    want(0, "b");
    expect(take()).toEqual([[0, "take", "b"]]);
  });

  it("is asked of another thread when the first makes no progress, and not while it does", () => {
    const pulse = new SharedArrayBuffer(8);
    shares.hear(0, { kind: "share", notice: "pulse", pulse });
    want(0, "a");
    want(1, "a");
    take();
    for (let second = 0; second < 5; second++) {
      new Float64Array(pulse)[0] = Date.now() + 500;
      vi.advanceTimersByTime(1000);
    }
    expect(take()).toEqual([]);
    vi.advanceTimersByTime(5000);
    expect(take()).toEqual([[1, "fetch", "a"]]);
    // The first thread was only slow, so the other one stops.
    shares.hear(0, { kind: "share", notice: "have", hash: "a", kept: kept(40) });
    expect(take()).toEqual([[1, "take", "a"]]);
    vi.advanceTimersByTime(1000);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the budget", () => {
  it("makes room by dropping the least recently used, at every thread that has it", () => {
    const a = fetch(0, "a");
    fetch(0, "b");
    want(1, "b");
    a[0] = Date.now();
    take();
    fetch(0, "c");
    expect(take()).toEqual([
      [0, "fetch", "c"],
      [0, "drop", "b"],
      [1, "drop", "b"],
    ]);
    expect(shares.bytes).toBe(80);
  });

  it("drops as many as it takes", () => {
    fetch(0, "a", 30);
    fetch(0, "b", 30);
    fetch(0, "c", 30);
    take();
    fetch(0, "d", 60);
    expect(take().filter(([, order]) => order === "drop")).toEqual([
      [0, "drop", "a"],
      [0, "drop", "b"],
    ]);
    expect(shares.bytes).toBe(90);
  });

  it("drops nothing for values that are announced and do not come", () => {
    fetch(0, "a", 90);
    take();
    for (let i = 0; i < 1000; i++) want(0, `claimed ${i}`, BUDGET);
    expect(take().filter(([, order]) => order === "drop")).toEqual([]);
    expect(shares.bytes).toBe(90);
  });

  it("counts a value again that was dropped while a task used it", () => {
    fetch(0, "a", 60);
    fetch(0, "b", 60);
    take();
    shares.hear(0, { kind: "share", notice: "have", hash: "a", kept: kept(60) });
    expect([take(), shares.bytes]).toEqual([[[0, "drop", "b"]], 60]);
  });
});

it("a value whose owner dropped it goes everywhere, once it is here", () => {
  want(0, "a");
  shares.hear(0, { kind: "share", notice: "dropped", hash: "a" });
  want(1, "a");
  shares.hear(0, { kind: "share", notice: "have", hash: "a", kept: kept(40) });
  take();
  shares.hear(1, { kind: "share", notice: "dropped", hash: "a" });
  shares.hear(0, { kind: "share", notice: "dropped", hash: "a" });
  expect(take()).toEqual([
    [0, "drop", "a"],
    [1, "drop", "a"],
  ]);
  expect(shares.bytes).toBe(0);
});
