import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RestartPolicy } from "./restart-policy.ts";

describe("RestartPolicy", () => {
  it("waits twice as long after each crash, up to the longest delay", () => {
    const options = { firstDelay: 100, longestDelay: 500, crashLimit: 10, window: 60_000 };
    const longest = new RestartPolicy(
      options,
      () => 0,
      () => 1,
    );
    expect(Array.from({ length: 5 }, () => longest.crashed())).toEqual([100, 200, 400, 500, 500]);
  });

  it("leaves half of the delay to chance", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        const delay = new RestartPolicy(
          { firstDelay: 100 },
          () => 0,
          () => random,
        ).crashed();
        expect(delay).toBeGreaterThanOrEqual(50);
        expect(delay).toBeLessThanOrEqual(100);
      }),
    );
  });

  it("gives up at the limit", () => {
    const policy = new RestartPolicy({ crashLimit: 3 }, () => 0);
    expect([policy.crashed(), policy.crashed()]).not.toContain(undefined);
    expect(policy.crashed()).toBeUndefined();
    expect(new RestartPolicy({ crashLimit: 1 }).crashed()).toBeUndefined();
  });

  it("does not count crashes of long ago", () => {
    let now = 0;
    const policy = new RestartPolicy(
      { crashLimit: 3, window: 1000, firstDelay: 100 },
      () => now,
      () => 1,
    );
    for (now = 0; now < 100_000; now += 500) expect(policy.crashed()).toBe(now === 0 ? 100 : 200);
    expect([policy.crashed(), policy.crashed()]).toEqual([200, undefined]);
  });
});
