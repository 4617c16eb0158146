import { describe, expect, it } from "vitest";
import { TaskCost } from "./task-cost.ts";

/** The cost of tasks that take `task` microseconds each, in messages that take `message` more and have `counts` tasks. */
function costOf(task: number, message: number, counts: readonly number[]): TaskCost {
  const cost = new TaskCost();
  for (const tasks of counts) cost.add(tasks, task + message / tasks);
  return cost;
}

const DIFFERENT = Array.from({ length: 40 }, (_, i) => 1 + (i % 9));

describe("TaskCost", () => {
  it("knows of no run before anything was measured", () => {
    expect(new TaskCost().run(200)).toBe(1);
  });

  it("tells trivial tasks from what it takes to get a thread going", () => {
    const run = costOf(4, 500, DIFFERENT).run(200);
    expect(run).toBeGreaterThan(40);
    expect(run).toBeLessThan(60);
    expect(costOf(150, 500, DIFFERENT).run(200)).toBe(1);
    expect(costOf(90, 0, DIFFERENT).run(200)).toBe(2);
  });

  it("takes the mean where all messages have as many tasks", () => {
    expect(
      costOf(
        4,
        100,
        Array.from({ length: 20 }, () => 25),
      ).run(200),
    ).toBe(25);
    expect(costOf(4, 500, [1]).run(200)).toBe(1);
  });

  it("has a run of one for tasks of which some take long", () => {
    const cost = costOf(4, 50, DIFFERENT);
    cost.add(1, 2_000_000);
    expect(cost.run(200)).toBe(1);
  });

  it("is not led astray by single readings", () => {
    const cost = costOf(4, 500, DIFFERENT);
    for (let i = 0; i < 5; i++) cost.add(9, 2000);
    for (const tasks of DIFFERENT) cost.add(tasks, 4 + 500 / tasks);
    expect(cost.run(200)).toBeGreaterThan(20);
  });

  it("counts messages of sizes that come no more for a while only", () => {
    const cost = costOf(4, 0, DIFFERENT);
    for (let i = 0; i < 300; i++) cost.add(1, 50);
    expect(cost.run(200)).toBe(4);
  });

  it("tells messages by all of their tasks, of whatever routine", () => {
    const cost = new TaskCost();
    for (const all of DIFFERENT) {
      cost.count(1);
      cost.measured(4 + 500 / all, all);
    }
    expect(cost.run(200)).toBeGreaterThan(40);
    expect(cost.run(200)).toBeLessThan(60);
  });

  it("adds up what was counted of a message, and takes a message without its tasks for none", () => {
    const cost = new TaskCost();
    cost.measured(2000, 10);
    cost.count(3);
    cost.count(2);
    cost.measured(10, 20);
    cost.measured(2000, 10);
    expect(cost.run(200)).toBe(20);
  });

  it("soon forgets the first readings, in which the code is compiled", () => {
    const cost = new TaskCost();
    for (let i = 0; i < 2; i++) cost.add(1, 900);
    for (let i = 0; i < 14; i++) cost.add(1, 4);
    expect(cost.run(200)).toBeGreaterThan(40);
    cost.add(1, 900);
    expect(cost.run(200)).toBeLessThan(10);
  });

  it("forgets what was", () => {
    const cost = costOf(5000, 0, DIFFERENT);
    expect(cost.run(200)).toBe(1);
    for (let i = 0; i < 3000; i++) cost.add(1 + (i % 9), 4);
    expect(cost.run(200)).toBeGreaterThan(10);
  });
});
