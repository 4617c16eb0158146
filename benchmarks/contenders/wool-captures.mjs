import { routine, WorkerPool } from "wool-ts";

const run = routine(async (fn) => fn());
const count = routine(async (fns) => fns.length);

export async function open() {
  const pool = await WorkerPool.start({ size: 1 });
  return {
    /** A function that no worker has seen before travels, with what it captured. */
    runFresh(number) {
      const own = { number };
      return run(() => own.number);
    },
    /** All of them travel in one call. */
    countAll: (fns) => count(fns),
    close: () => pool.stop(),
  };
}
