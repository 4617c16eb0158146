/**
 * A process that a worker belongs to, other than the one that calls it: the worker must end with it, in whatever way it
 * ends. Takes `{ start: { namespace, workerOptions } }` and `{ stop: { timeoutMs } }` from its parent.
 */
import { LocalDiscovery, LocalWorker, WorkerPool } from "wool-ts";

let pool;

async function obey({ start, stop }) {
  if (start !== undefined) {
    const { namespace, workerOptions } = start;
    pool = await WorkerPool.start({
      size: 1,
      // A killed worker stays away until the fault is repaired.
      worker: (options) => new LocalWorker(options),
      discovery: new LocalDiscovery(namespace),
      workerOptions,
      filter: ({ extra }) => extra.owner === workerOptions.extra.owner,
    });
    const [own] = pool.workers.values();
    process.send({ started: { pid: own?.pid, address: own?.address } });
  }
  if (stop !== undefined) {
    await pool?.stop({ timeout: stop.timeoutMs });
    process.send({ stopped: true }, () => process.disconnect());
  }
}

process.on("message", (message) => {
  obey(message).catch((error) => {
    process.send({ failed: String(error?.stack ?? error) }, () => process.exit(1));
  });
});
process.on("disconnect", () => process.exit(0));
