import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadline } from "./deadline.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function makeDeadline() {
  const deadline = new Deadline();
  const seen = { passed: false };
  void deadline.passed.then(() => {
    seen.passed = true;
  });
  return { deadline, seen };
}

describe("Deadline", () => {
  it("is infinitely far away at first", async () => {
    const { deadline, seen } = makeDeadline();
    deadline.shorten(Number.POSITIVE_INFINITY);
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect([deadline.left, seen.passed]).toEqual([Number.POSITIVE_INFINITY, false]);
  });

  it("comes nearer, never farther", async () => {
    const { deadline, seen } = makeDeadline();
    deadline.shorten(1000);
    deadline.shorten(5000);
    expect(deadline.left).toBe(1000);
    deadline.shorten(100);
    await vi.advanceTimersByTimeAsync(99);
    expect([deadline.left, seen.passed]).toEqual([1, false]);
    await vi.advanceTimersByTimeAsync(1);
    expect([deadline.left, seen.passed]).toEqual([0, true]);
  });

  it("may be now", async () => {
    const { deadline, seen } = makeDeadline();
    deadline.shorten(0);
    await deadline.passed;
    expect([deadline.left, seen.passed]).toEqual([0, true]);
  });

  it("may be farther away than any timer", async () => {
    const { deadline, seen } = makeDeadline();
    deadline.shorten(2 ** 31 + 1000);
    await vi.advanceTimersByTimeAsync(2 ** 31);
    expect([deadline.left, seen.passed]).toEqual([1000, false]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(seen.passed).toBe(true);
  });

  it.each([5, Number.POSITIVE_INFINITY])("keeps the program alive from when it is set, to %d ms, to its end", (ms) => {
    const { deadline } = makeDeadline();
    expect(vi.getTimerCount()).toBe(0);
    deadline.shorten(ms);
    deadline.shorten(Number.POSITIVE_INFINITY);
    expect(vi.getTimerCount()).toBe(1);
    deadline.clear();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that was cleared does not pass", async () => {
    const { deadline, seen } = makeDeadline();
    deadline.shorten(10);
    deadline.clear();
    await vi.advanceTimersByTimeAsync(100);
    expect(seen.passed).toBe(false);
  });
});
