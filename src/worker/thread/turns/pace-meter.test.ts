import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PaceMeter } from "./pace-meter.ts";
import { ThreadTimes } from "./thread-times.ts";

let active = 0;
/** The part of the busy time in which the thread was on a core. */
let cost: (microseconds: number) => number;

/** The thread works for this many milliseconds. */
const work = (milliseconds: number) => {
  active += milliseconds;
};

beforeEach(() => {
  active = 1000;
  cost = (microseconds) => microseconds;
  vi.spyOn(ThreadTimes.prototype, "cost").mockImplementation((microseconds) => cost(microseconds));
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
    expect(meter.read(4)).toEqual({ taskUs: 2000, costUs: 2000 });
  });

  it("does not count the time in which others had the core against short tasks", () => {
    cost = (microseconds) => microseconds / 4;
    const meter = new PaceMeter();
    work(8);
    expect(meter.read(4)).toEqual({ taskUs: 500, costUs: 500 });
    // For long tasks, it does.
    const other = new PaceMeter();
    work(8);
    expect(other.read(1)).toEqual({ taskUs: 8000, costUs: 2000 });
  });

  it("does not count what was before", () => {
    work(500);
    const meter = new PaceMeter();
    work(1);
    expect(meter.read(1)?.taskUs).toBe(1000);
  });

  it("says nothing without a task, and counts the work of that time with the next one", () => {
    const meter = new PaceMeter();
    work(3);
    expect(meter.read(0)).toBeUndefined();
    work(1);
    expect(meter.read(1)?.taskUs).toBe(4000);
  });

  it("gives a new reading half of the weight, and tells what the last tasks cost", () => {
    const meter = new PaceMeter();
    const readings = [1, 3, 2].map((milliseconds) => {
      work(milliseconds);
      const { taskUs, costUs } = meter.read(1) ?? {};
      return [taskUs, costUs];
    });
    expect(readings).toEqual([
      [1000, 1000],
      [2000, 3000],
      [2000, 2000],
    ]);
  });

  it("is never 0 for tasks that took no time at all", () => {
    expect(new PaceMeter().read(1000)).toEqual({ taskUs: 1, costUs: 1 });
  });
});
