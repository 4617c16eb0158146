import { routine, WorkerPool } from "wool-ts";

const at = routine(async (table, i) => table[i]);

export async function open({ size = 2 } = {}) {
  const pool = await WorkerPool.start({ size });
  return {
    /** As in `wool-share`. All calls take equally long, so a few of them show the cost of one. */
    reader: (table) => ({ count: 8, read: (i) => at(table, i) }),
    close: () => pool.stop(),
  };
}
