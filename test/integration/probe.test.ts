import { routine, WorkerPool } from "wool-ts";
import { expect, test } from "vitest";
const add = routine(async (x: number, y: number) => x + y);
test("a", async () => {
  await using pool = await WorkerPool.start({ size: 1 });
  expect(await add(1, 2)).toBe(3);
});
