// Stopping calls that are not wanted any more: by a signal, and by a timeout.
// Prints:
//   cancelled: enough
//   in time: RangeError 10 is too much
//   too slow: TaskTimeout
//   the workers are fine: 3
import { setTimeout as delay } from "node:timers/promises";
import { currentTask, routine, WorkerPool } from "wool-ts";

// The signal of the task is aborted when its caller gives up, so that waiting ends on the worker too.
const wait = routine(async (ms) => {
  await delay(ms, undefined, { signal: currentTask().signal });
});
const refuse = routine(async (n) => {
  throw new RangeError(`${String(n)} is too much`);
});
const add = routine(async (x, y) => x + y);

const pool = await WorkerPool.start({ size: 2 });
try {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("enough")), 100);
  await wait
    .with({ signal: controller.signal })(60_000)
    .catch((error) => console.log("cancelled:", error.message));

  // The caller gets the error that the routine threw.
  await refuse(10).catch((error) => console.log("in time:", error.constructor.name, error.message));

  await wait
    .with({ timeout: 100 })(60_000)
    .catch((error) => console.log("too slow:", error.constructor.name));

  console.log("the workers are fine:", await add(1, 2));
} finally {
  await pool.stop();
}
