import { events, routine, WorkerPool } from "wool-ts";

const add = routine(async (x, y) => x + y);

/** Sets whether this thread checks for listeners to tasks, and whether there is one. */
function listen(asks, hears) {
  for (const set of globalThis.woolSwitches) set(asks);
  // A task would change only its own copy of a captured variable. This variable belongs to the thread.
  globalThis.woolHeard?.[Symbol.dispose]();
  globalThis.woolHeard = hears ? events.on("task", () => undefined) : undefined;
}
const listenThere = routine(listen);

export async function open() {
  const pool = await WorkerPool.start({ size: 2 });
  return {
    add,
    pids: () => [process.pid, ...[...pool.workers.values()].map((worker) => worker.pid)],
    async choose({ asks = true, callerHears = false, workersHear = false }) {
      listen(asks, callerHears);
      for (const { reason } of await pool.broadcast(listenThere, asks, workersHear)) if (reason) throw reason;
    },
    close: () => pool.stop(),
  };
}
