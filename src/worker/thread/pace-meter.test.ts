import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PaceMeter } from "./pace-meter.ts";

let active = 0;

/** The thread works for this many milliseconds. */
const work = (milliseconds: number) => {
  active += milliseconds;
};

beforeEach(() => {
  active = 1000;
  vi.spyOn(performance, "eventLoopUtilization").mockImplementation(
    (): EventLoopUtilization => ({ active, idle: 0, utilization: 0 }),
  );
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("PaceMeter", () => {
  it("tells how long a task kept the thread busy, in microseconds", () => {
    const meter = new PaceMeter();
    work(8);
    expect(meter.read(4)).toBe(2000);
  });

  it("does not count what was before", () => {
    work(500);
    const meter = new PaceMeter();
    work(1);
    expect(meter.read(1)).toBe(1000);
  });

  it("says nothing without a task, and counts the work of that time with the next one", () => {
    const meter = new PaceMeter();
    work(3);
    expect(meter.read(0)).toBe(0);
    work(1);
    expect(meter.read(1)).toBe(4000);
  });

  it("gives a new reading half of the weight", () => {
    const meter = new PaceMeter();
    const readings = [1, 3, 2].map((milliseconds) => {
      work(milliseconds);
      return meter.read(1);
    });
    expect(readings).toEqual([1000, 2000, 2000]);
  });

  it("is never 0 for tasks that took no time at all", () => {
    expect(new PaceMeter().read(1000)).toBe(1);
  });
});
