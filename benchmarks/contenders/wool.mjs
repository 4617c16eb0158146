import { routine, WorkerPool } from "wool-ts";
import { burn } from "./burn.mjs";

const add = routine(async (x, y) => x + y);
const echo = routine(async (value) => value);
const burnRemotely = routine(async (steps, seed) => burn(steps, seed));
const items = routine(async function* () {
  for (let i = 0; ; i++) yield i;
});

export async function open({ size = 2, workerOptions = {} } = {}) {
  const pool = await WorkerPool.start({ size, workerOptions });
  return {
    add,
    addUntil: (signal, x, y) => add.with({ signal })(x, y),
    echo,
    burn: burnRemotely,
    items: (prefetch) => items.with({ prefetch })(),
    workerPids: () => [...pool.workers.values()].map((worker) => worker.pid),
    close: () => pool.stop(),
  };
}
