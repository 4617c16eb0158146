import { routine, share, WorkerPool } from "wool-ts";

const at = routine(async (table, i) => table.value[i]);

export async function open({ size = 2, threads = 1 } = {}) {
  const pool = await WorkerPool.start({ size, workerOptions: { threads } });
  return {
    /** A function that reads one element of `table` in a worker, and how often it can be called in reasonable time. */
    reader(table) {
      const shared = share(table);
      return { count: 200, read: (i) => at(shared, i) };
    },
    workerPids: () => [...pool.workers.values()].map((worker) => worker.pid),
    close: () => pool.stop(),
  };
}
