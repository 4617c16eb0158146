import { describe, expect, test } from "vitest";
import { parseChaosCommandLine, parseSoakCommandLine } from "./command-line.mjs";
import { FAULTS, groupOf, SLOTS } from "./faults.mjs";
import { describeFault, makeSchedule } from "./schedule.mjs";

const kinds = FAULTS.map(({ kind }) => kind);
const options = { seed: 1, durationMs: 60_000, meanGapMs: 300, kinds, network: true };

describe("a schedule", () => {
  test("is a pure function of its options", () => {
    expect(makeSchedule(options)).toEqual(makeSchedule({ ...options }));
    expect(makeSchedule({ ...options, seed: 2 })).not.toEqual(makeSchedule(options));
  });

  test("is in order, within its time, and has about as many faults as were asked for", () => {
    const times = makeSchedule(options).map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times[0]).toBeGreaterThan(0);
    expect(times.at(-1)).toBeLessThan(options.durationMs);
    expect(Math.abs(times.length - 200)).toBeLessThan(40);
  });

  test("has every kind before long, each aimed at what it is for", () => {
    const schedule = makeSchedule(options);
    expect(new Set(schedule.map(({ kind }) => kind))).toEqual(new Set(kinds));
    for (const { kind, target } of schedule) {
      const { targets } = FAULTS.find((fault) => fault.kind === kind);
      expect(targets.flatMap((name) => SLOTS[name])).toContain(target);
    }
  });

  test("leaves out what was not asked for, and workers beyond a link when there is none", () => {
    const few = makeSchedule({ ...options, kinds: ["kill", "freeze"], network: false });
    expect(new Set(few.map(({ kind }) => kind))).toEqual(new Set(["kill", "freeze"]));
    expect(few.map(({ target }) => groupOf(target))).not.toContain("net");
    expect(() => makeSchedule({ ...options, kinds: [] })).toThrow(/no fault/);
  });

  test("is told in a line for each fault", () => {
    expect(describeFault({ at: 1234, kind: "freeze", target: "pool:1", ms: 50 })).toBe(
      "   1.234s  freeze pool:1 ms=50",
    );
  });
});

describe("the command lines", () => {
  test("take seconds or minutes", () => {
    expect(parseChaosCommandLine(["--seed", "5", "--minutes", "1.5"])).toMatchObject({ seed: 5, durationMs: 90_000 });
    expect(parseChaosCommandLine(["--seconds", "3"])).toMatchObject({ durationMs: 3000 });
    expect(parseChaosCommandLine([])).toMatchObject({ durationMs: 120_000, quick: false });
    expect(parseSoakCommandLine(["--tasks", "10"])).toMatchObject({ tasks: 10, streams: 100_000 });
  });

  test.each([
    [["--seed", "x"], /--seed takes a whole number, not x/],
    [["--seconds", "0"], /--seconds takes a number above 0/],
    [["--minutes", "1", "--seconds", "1"], /--minutes or --seconds/],
    [["--only", "kill,nothing"], /"nothing" is not a fault: there are kill, freeze/],
  ])("say what is wrong with %j", (args, message) => {
    expect(() => parseChaosCommandLine(args)).toThrow(message);
  });
});
