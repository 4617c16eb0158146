import { routine, WorkerPool } from "wool-ts";

const at = routine(async (table, i) => table[i]);

export async function open({ size = 2 } = {}) {
  const pool = await WorkerPool.start({ size });
  return {
    /** As in `wool-share`. Each call takes as long as any other, so a few of them tell what one costs. */
    reader: (table) => ({ count: 8, read: (i) => at(table, i) }),
    close: () => pool.stop(),
  };
}
