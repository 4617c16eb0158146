import { setImmediate as turn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import type { RunningTask } from "../running-task.ts";
import { TaskLimits } from "./task-limits.ts";

const taskOf = (facts: Partial<RunningTask> = {}): RunningTask =>
  ({ state: "running", wireId: 1, ...facts }) as RunningTask;

it("ends tasks whose time is over, and none that ended before or that nobody waits for", async () => {
  const expired: number[] = [];
  const limits = new TaskLimits((_task, timeout) => expired.push(timeout));
  limits.add(taskOf(), 2);
  limits.add(taskOf({ state: "ended" }), 1);
  limits.add(taskOf({ wireId: -1 }), 1);
  const later = taskOf();
  limits.add(later, 60_000);
  await vi.waitFor(() => expect(expired).toEqual([2]));
  expect(later.timer).toBeDefined();
  later.timer?.clear();
});

it("sets no timer for a task that ends in the turn in which it began", async () => {
  const limits = new TaskLimits(() => undefined);
  const task = taskOf();
  limits.add(task, 60_000);
  task.state = "ended";
  await turn();
  await turn();
  expect(task.timer).toBeUndefined();
});

it("counts the time from the beginning of a task, however long its turn takes", async () => {
  const expired: number[] = [];
  const limits = new TaskLimits((_task, timeout) => expired.push(timeout));
  const [short, long] = [taskOf(), taskOf()];
  limits.add(short, 5);
  limits.add(long, 60_000);
  const until = performance.now() + 10;
  while (performance.now() < until);
  await turn();
  await vi.waitFor(() => expect(expired).toEqual([5]));
  long.timer?.clear();
});
