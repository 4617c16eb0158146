import { routine, WorkerPool } from "wool-ts";
import * as counter from "./counter.js";
import { count, up } from "./counter.js";
import { counters } from "./counters.js";

let pool;
beforeAll(async () => {
  pool = await WorkerPool.start({ size: 1 });
});
afterAll(() => pool.stop());

test("a variable that its module assigns to is one, by each name that it has", async () => {
  const raise = routine(async () => [up(), count, counter.count, counters.up(), counters.count, counter.count]);
  expect(await raise()).toEqual([1, 1, 1, 2, 2, 2]);
  expect(count).toBe(0);
  up();
  expect(await raise()).toEqual([2, 2, 2, 3, 3, 3]);
});
