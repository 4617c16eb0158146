import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { UnreadOutput } from "./unread-output.ts";

const MIB = 1024 * 1024;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp(queued = 0) {
  const told: string[] = [];
  const output = new UnreadOutput({
    maxUnreadBytes: 10 * MIB,
    stallTimeout: 1000,
    queuedBytes: () => queued,
    relieved: () => told.push("relieved"),
    stalled: () => told.push("stalled"),
  });
  return { output, told };
}

describe("UnreadOutput", () => {
  it("holds back what can wait from half a megabyte on", () => {
    const { output } = setUp();
    expect([output.sent(300_000), output.sent(300_000)]).toEqual([true, false]);
    expect([output.took(100_000), output.took(1)]).toEqual([true, true]);
    output.sent(MIB);
    expect(output.took(1)).toBe(false);
  });

  it("is congested beyond the limit until half of that is left", () => {
    const { output, told } = setUp();
    output.sent(10 * MIB);
    expect(output.isCongested).toBe(false);
    output.sent(1);
    expect(output.isCongested).toBe(true);
    output.took(4 * MIB);
    expect([output.isCongested, told]).toEqual([true, []]);
    output.took(2 * MIB);
    expect([output.isCongested, told]).toEqual([false, ["relieved"]]);
    vi.advanceTimersByTime(5000);
    expect(told).toEqual(["relieved"]);
  });

  it("counts what waits in the session", () => {
    expect(setUp(11 * MIB).output.isCongested).toBe(true);
  });

  it("is stalled when nothing is read for the whole time, and only then", () => {
    const { output, told } = setUp();
    output.sent(30 * MIB);
    expect(output.isCongested).toBe(true);
    for (let i = 0; i < 5; i++) {
      vi.advanceTimersByTime(900);
      output.took(1);
    }
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(told).toEqual(["stalled"]);
  });

  it("lets generators wait that run ahead, until there is room or it is over", async () => {
    const { output } = setUp();
    expect(output.relief()).toBeUndefined();
    output.sent(MIB);
    const relief = output.relief();
    output.took(MIB);
    await relief;
    output.sent(MIB);
    const last = output.relief();
    output.close();
    await last;
    expect(output.relief()).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});
