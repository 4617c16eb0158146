import { expect, test } from "vitest";
import { currentTask, routine } from "wool-ts";
import { collect } from "../../support/collect.ts";

// There is no pool in this process yet.

test("functions run right here as ordinary asynchronous ones", async () => {
  expect(await routine(async () => process.pid)()).toBe(process.pid);
  const value = {};
  expect(await routine(async (given: object) => given)(value)).toBe(value);
  const pending = routine((x: number, y: number) => x + y)(1, 2);
  expect(pending).toBeInstanceOf(Promise);
  expect(await pending).toBe(3);
  const fail = routine((message: string): never => {
    throw new RangeError(message);
  });
  await expect(fail("here")).rejects.toThrow(new RangeError("here"));
  expect(currentTask()).toBeUndefined();
});

test("generators run right here, synchronous ones too", async () => {
  const pids = routine(async function* (count: number) {
    for (let i = 0; i < count; i++) yield process.pid;
  });
  expect(await collect(pids(2))).toEqual([process.pid, process.pid]);
  const stream = routine(function* () {
    yield 0;
    return "end";
  })();
  expect(await stream.next()).toEqual({ done: false, value: 0 });
  expect(await stream.next()).toEqual({ done: true, value: "end" });
});
