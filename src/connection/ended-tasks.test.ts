import { describe, expect, it } from "vitest";
import { TaskCost } from "../routine/task-cost.ts";
import { EndedTasks } from "./ended-tasks.ts";

describe("EndedTasks", () => {
  it("tells each routine once how long its tasks of a message took", () => {
    const [one, other] = [new TaskCost(), new TaskCost()];
    const ended = new EndedTasks();
    for (let i = 0; i < 10; i++) {
      ended.add(one, 1);
      ended.add(other, 2);
    }
    const readings: [TaskCost, number, number, number | undefined][] = [];
    for (const cost of [one, other]) {
      cost.add = (tasks, microseconds, all) => readings.push([cost, tasks, microseconds, all]);
    }
    ended.measured(5);
    ended.measured(7);
    expect(readings).toEqual([
      [one, 10, 5, 30],
      [other, 20, 5, 30],
    ]);
  });

  it("keeps a bounded number of tasks for a worker that reports no pace", () => {
    const costs = [new TaskCost(), new TaskCost()];
    const ended = new EndedTasks();
    const totals: number[] = [];
    for (const cost of costs) cost.add = (_tasks, _microseconds, all) => totals.push(all ?? 0);
    for (let i = 0; i < 20_000; i++) ended.add(costs[i % 2] as TaskCost, 1);
    ended.measured(5);
    expect(totals.length).toBe(2);
    expect(totals[0]).toBeLessThan(5000);
  });
});
