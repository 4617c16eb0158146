import { describe, expect, it } from "vitest";
import { TaskSlots } from "./task-slots.ts";

describe("TaskSlots", () => {
  it("are shared by those who have the same memory", () => {
    const slots = TaskSlots.of(2, 2);
    const other = new TaskSlots(slots.memory);
    expect([slots.tryTake(0), other.tryTake(1), slots.tryTake(0), other.tryTake(1)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    other.giveBack(1);
    expect([slots.isAnyFree, slots.tryTake(0), slots.isAnyFree]).toEqual([true, true, false]);
  });

  it("are taken beyond the limit by tasks that go on, and free again only below it", () => {
    const slots = TaskSlots.of(1, 1);
    expect(slots.tryTake(0)).toBe(true);
    slots.take(0);
    slots.giveBack(0);
    expect(slots.tryTake(0)).toBe(false);
    slots.giveBack(0);
    expect(slots.tryTake(0)).toBe(true);
  });

  it("tell which other threads have tasks that wait, beginning with the next", () => {
    const slots = TaskSlots.of(1, 4);
    for (const lane of [0, 1, 3]) slots.setWaiting(lane, 1);
    expect(slots.waitingAfter(1)).toEqual([3, 0]);
    expect(slots.waitingAfter(2)).toEqual([3, 0, 1]);
    for (const lane of [0, 3]) slots.setWaiting(lane, 0);
    expect([slots.doOthersWait(1), slots.doOthersWait(2)]).toEqual([false, true]);
  });

  it("come back from a thread that has ended, and nothing waits in it", () => {
    const slots = TaskSlots.of(3, 2);
    for (const lane of [0, 0, 1]) slots.tryTake(lane);
    slots.setWaiting(0, 5);
    slots.reclaim(0);
    expect([slots.doOthersWait(1), slots.tryTake(1), slots.tryTake(1), slots.tryTake(1)]).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});
