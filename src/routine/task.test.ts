import { inspect } from "node:util";
import { expect, it } from "vitest";
import { extendCallContext } from "./call-context.ts";
import { currentTask, type TaskRecord } from "./task.ts";

/** A task as a worker keeps it: an instance with accessors and private details. */
class Record implements TaskRecord {
  readonly id = "a-1";
  readonly caller = undefined;
  readonly name = "add";
  readonly tag = "add@w";
  readonly worker = "w";
  readonly deadline = 5;
  readonly key = undefined;
  readonly session = { close: () => "closed", secret: "hidden" };
  exception: unknown;
  #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }
}

it("is a frozen plain object with these fields and no others", () => {
  const record = new Record();
  const task = extendCallContext({ task: record }, currentTask);
  expect(Object.getPrototypeOf(task)).toBe(Object.prototype);
  expect(Object.isFrozen(task)).toBe(true);
  expect(Object.keys(task ?? {})).toEqual(["id", "caller", "name", "tag", "worker", "deadline", "signal", "key"]);
  expect({ ...task }).toMatchObject({ id: "a-1", name: "add", tag: "add@w", worker: "w", deadline: 5 });
  expect(task?.signal).toBe(record.signal);
  expect(inspect(task, { showHidden: true, depth: 10 })).not.toContain("hidden");
});

it("is the same object each time, and another one for another task", () => {
  const [one, other] = [new Record(), new Record()];
  const look = (task: TaskRecord) => extendCallContext({ task }, currentTask);
  expect(look(one)).toBe(look(one));
  expect(look(one)).not.toBe(look(other));
});

it("tells what the task has thrown", () => {
  const record = new Record();
  const task = extendCallContext({ task: record }, currentTask);
  expect(task?.exception).toBeUndefined();
  record.exception = new RangeError("late");
  expect(task?.exception).toEqual(new RangeError("late"));
});
