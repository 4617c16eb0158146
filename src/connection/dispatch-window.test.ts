import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DispatchWindow } from "./dispatch-window.ts";

describe("DispatchWindow", () => {
  it("lets one task go at first", () => {
    const window = new DispatchWindow();
    expect(window.room).toBe(1);
    window.sent(1);
    expect(window.room).toBe(0);
    window.started(1);
    expect(window.room).toBe(1);
  });

  it("grows with the pace of the thread, up to a bound, and never below one", () => {
    const window = new DispatchWindow();
    const room = (microseconds: number) => {
      window.pace(microseconds);
      return window.room;
    };
    expect([6000, 6001, 1_000_000, 3000, 100, 1, 0].map(room)).toEqual([1, 1, 1, 2, 60, 512, 512]);
  });

  it("has no room while large arguments wait", () => {
    const window = new DispatchWindow();
    window.pace(1);
    const [one, other] = [{ weight: 0 }, { weight: 0 }];
    window.load(one, 30_000_000);
    expect(window.room).toBe(512);
    window.load(other, 30_000_000);
    expect(window.room).toBe(0);
    window.unload(one);
    window.unload(one);
    expect(window.room).toBe(512);
    window.unload(other);
    window.load(one, 40_000_000);
    expect(window.room).toBe(0);
  });

  it("has no room while more wait than the new pace allows", () => {
    const window = new DispatchWindow();
    window.pace(250);
    window.sent(10);
    window.pace(10_000);
    expect(window.room).toBe(-9);
    window.started(10);
    expect(window.room).toBe(1);
  });

  it("has its whole room back when everything that was sent has been started", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), fc.integer({ min: 1, max: 100_000 }), (runs, pace) => {
        const window = new DispatchWindow();
        window.pace(pace);
        const whole = window.room;
        for (const run of runs) window.sent(run);
        expect(window.room).toBe(whole - runs.reduce((sum, run) => sum + run, 0));
        for (const run of runs) window.started(run);
        expect(window.room).toBe(whole);
      }),
    );
  });
});
