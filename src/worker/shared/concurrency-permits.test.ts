import { describe, expect, it } from "vitest";
import { ConcurrencyPermits } from "./concurrency-permits.ts";

describe("ConcurrencyPermits", () => {
  it("are shared by those who have the same memory", () => {
    const permits = ConcurrencyPermits.of(2, 2);
    const other = new ConcurrencyPermits(permits.memory);
    expect([permits.tryTake(0), other.tryTake(1), permits.tryTake(0), other.tryTake(1)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    other.giveBack(1);
    expect([permits.isAnyFree, permits.tryTake(0), permits.isAnyFree]).toEqual([true, true, false]);
  });

  it("are taken beyond the limit by tasks that go on, and free again only below it", () => {
    const permits = ConcurrencyPermits.of(1, 1);
    expect(permits.tryTake(0)).toBe(true);
    permits.take(0);
    permits.giveBack(0);
    expect(permits.tryTake(0)).toBe(false);
    permits.giveBack(0);
    expect(permits.tryTake(0)).toBe(true);
  });

  it("tell which other threads have tasks that wait, beginning with the next", () => {
    const permits = ConcurrencyPermits.of(1, 4);
    for (const lane of [0, 1, 3]) permits.setWaiting(lane, 1);
    expect(permits.waitingAfter(1)).toEqual([3, 0]);
    expect(permits.waitingAfter(2)).toEqual([3, 0, 1]);
    for (const lane of [0, 3]) permits.setWaiting(lane, 0);
    expect([permits.doOthersWait(1), permits.doOthersWait(2)]).toEqual([false, true]);
  });

  it("come back from a thread that has ended, and nothing waits in it", () => {
    const permits = ConcurrencyPermits.of(3, 2);
    for (const lane of [0, 0, 1]) permits.tryTake(lane);
    permits.setWaiting(0, 5);
    permits.reclaim(0);
    expect([permits.doOthersWait(1), permits.tryTake(1), permits.tryTake(1), permits.tryTake(1)]).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});
