import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { timeoutsStartedBy } from "../../test/support/started-timeouts.ts";
import { Timer } from "./timer.ts";

const LONGEST_DELAY_MS = 2 ** 31 - 1;

describe("Timer", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("calls once, when any duration is over and not before", () => {
    const durations = fc.oneof(
      fc.constantFrom(0, 0.5, 1, 1.5, LONGEST_DELAY_MS - 1, LONGEST_DELAY_MS, LONGEST_DELAY_MS + 1, 2 ** 32, 1e12),
      fc.double({ min: 0, max: 1e12, noNaN: true }),
    );
    fc.assert(
      fc.property(durations, (ms) => {
        const call = vi.fn();
        new Timer(ms, call);
        if (ms > 1) vi.advanceTimersByTime(Math.floor(ms) - 1);
        expect(call).not.toHaveBeenCalled();
        vi.advanceTimersByTime(3);
        expect(call).toHaveBeenCalledTimes(1);
        vi.advanceTimersByTime(LONGEST_DELAY_MS);
        expect(call).toHaveBeenCalledTimes(1);
      }),
    );
  });

  it.each([Number.POSITIVE_INFINITY, Number.MAX_VALUE])("never calls when it waits for %d", (ms) => {
    const call = vi.fn();
    const timer = new Timer(ms, call);
    for (let i = 0; i < 100; i++) vi.advanceTimersByTime(LONGEST_DELAY_MS);
    expect(call).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(1);
    timer.clear();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("stays unreferenced from delay to delay", () => {
    const timer = new Timer(3 * LONGEST_DELAY_MS, () => undefined).unref();
    const started = timeoutsStartedBy(() => vi.advanceTimersByTime(LONGEST_DELAY_MS + 5));
    expect(started.map((timeout) => timeout.hasRef())).toEqual([false]);
    timer.clear();
  });

  it.each([5, 2 ** 40])("does not call once it is cleared (%d ms)", (ms) => {
    const call = vi.fn();
    const timer = new Timer(ms, call);
    if (ms > LONGEST_DELAY_MS) vi.advanceTimersByTime(LONGEST_DELAY_MS + 5);
    timer.clear();
    vi.advanceTimersByTime(2 * ms);
    expect(call).not.toHaveBeenCalled();
  });
});

it("keeps the program alive unless it is unreferenced", () => {
  const waiting = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = waiting();
  const timer = new Timer(Number.POSITIVE_INFINITY, () => undefined);
  expect(waiting()).toBe(before + 1);
  expect(timer.unref()).toBe(timer);
  expect(waiting()).toBe(before);
  timer.clear();
});
