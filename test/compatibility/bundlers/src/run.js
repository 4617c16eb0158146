import { routine, TaskTimeout, WorkerPool } from "wool-ts";
import { dayAfter, OutOfStock, priceOf } from "./shop.js";

const add = routine(async (x, y) => [x + y, process.pid]);
const price = routine(priceOf);
const tomorrow = routine(dayAfter);
const count = routine(async function* (to) {
  for (let n = 0; n < to; n++) yield n;
});
const wait = routine(() => new Promise(() => undefined));

/** Makes calls of each kind, and says what became of them. */
export async function run() {
  const pool = await WorkerPool.start({ size: 1 });
  try {
    const [sum, pid] = await add(1, 2);
    const numbers = [];
    for await (const n of count(3)) numbers.push(n);
    const error = await price("salt").catch((reason) => reason);
    const late = await wait
      .with({ timeout: 20 })()
      .catch((reason) => reason);
    return {
      sum,
      elsewhere: pid !== process.pid,
      price: await price("tea"),
      tomorrow: await tomorrow("2024-02-28"),
      numbers,
      error: [error instanceof OutOfStock, error.item, error.message],
      late: late instanceof TaskTimeout,
    };
  } finally {
    await pool.stop();
  }
}
