import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WorkerMetadata } from "../../discovery/index.ts";
import { Evictions } from "./evictions.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function worker(uid: string, address = "unix:/x"): WorkerMetadata {
  return { uid, address, pid: 1, version: "1", tags: new Set(), extra: {}, secure: false, channel: {} };
}

function setUp() {
  const admitted: string[] = [];
  const evictions = new Evictions(({ uid, address }) => admitted.push(`${uid} at ${address}`));
  return { admitted, evictions };
}

describe("a worker that was put out", () => {
  it("is admitted again after a while, as what it is then", () => {
    const { admitted, evictions } = setUp();
    evictions.add(worker("a"), new Error("nonsense"));
    expect([evictions.has("a"), evictions.has("b")]).toEqual([true, false]);
    expect(evictions.reasons().map(({ message }) => message)).toEqual(["nonsense"]);
    evictions.update(worker("a", "unix:/y"));
    vi.advanceTimersByTime(999);
    expect(admitted).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(admitted).toEqual(["a at unix:/y"]);
    expect(evictions.has("a")).toBe(false);
    expect(evictions.reasons()).toEqual([]);
  });

  it("again and again has to wait twice as long each time, and no longer when it was good in between", () => {
    const { admitted, evictions } = setUp();
    for (const wait of [1000, 2000, 4000, 8000]) {
      evictions.add(worker("a"), new Error("nonsense"));
      vi.advanceTimersByTime(wait - 1);
      const before = admitted.length;
      vi.advanceTimersByTime(1);
      expect(admitted.length).toBe(before + 1);
    }
    vi.advanceTimersByTime(100_000);
    evictions.add(worker("a"), new Error("nonsense"));
    vi.advanceTimersByTime(1000);
    expect(admitted).toHaveLength(5);
    for (let i = 0; i < 12; i++) {
      evictions.add(worker("b"), new Error("nonsense"));
      vi.advanceTimersByTime(60_000);
    }
    expect(admitted).toHaveLength(17);
  });

  it("and is gone, or whose pool is closed, is not admitted", () => {
    const { admitted, evictions } = setUp();
    evictions.add(worker("a"), new Error("nonsense"));
    evictions.add(worker("b"), new Error("nonsense"));
    evictions.forget("a");
    evictions.forget("c");
    evictions.close();
    vi.advanceTimersByTime(100_000);
    expect([admitted, vi.getTimerCount()]).toEqual([[], 0]);
  });
});
