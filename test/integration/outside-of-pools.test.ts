import { expect, test } from "vitest";
import { currentTask, routine } from "wool-ts";

// Before there is any pool in this process.
const addSync = routine((x: number, y: number) => x + y);
const whereabouts = routine(async () => process.pid);
const keep = routine(async (value: object) => value);
const failSync = routine((message: string): never => {
  throw new RangeError(message);
});
const count = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield [i, process.pid];
  return "end";
});
const countSync = routine(function* (to: number) {
  for (let i = 0; i < to; i++) yield i;
  return "end";
});

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

test("functions run right here as ordinary asynchronous ones", async () => {
  expect(await whereabouts()).toBe(process.pid);
  const value = {};
  expect(await keep(value)).toBe(value);
  const pending = addSync(1, 2);
  expect(pending).toBeInstanceOf(Promise);
  expect(await pending).toBe(3);
  const failed = failSync("here");
  await expect(failed).rejects.toThrow(new RangeError("here"));
  expect(currentTask()).toBeUndefined();
});

test("generators run right here, synchronous ones too", async () => {
  expect(await collect(count(2))).toEqual([
    [0, process.pid],
    [1, process.pid],
  ]);
  const stream = countSync(1);
  expect(await stream.next()).toEqual({ done: false, value: 0 });
  expect(await stream.next()).toEqual({ done: true, value: "end" });
});
