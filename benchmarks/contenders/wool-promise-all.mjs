import { routine, WorkerPool } from "wool-ts";

const increment = routine(async (number) => number + 1);

/** All calls at once. */
export async function open({ size = 2 } = {}) {
  const pool = await WorkerPool.start({ size });
  return {
    /** The sum of the results. */
    async mapAll(count) {
      const results = await Promise.all(Array.from({ length: count }, (_, i) => increment(i)));
      return results.reduce((sum, result) => sum + result, 0);
    },
    close: () => pool.stop(),
  };
}
