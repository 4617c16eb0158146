import { LocalWorker, type PoolOptions, StaticDiscovery, WorkerPool } from "wool-ts";
import { isRunning } from "./processes.ts";

/** Plain workers that the tests of this process share. They end with it. */
let atHand: LocalWorker[] = [];

/**
 * A pool of so many plain workers, for tests that do not change them. The workers are started once for all such tests
 * of this process, because starting them takes longer than most of these tests.
 */
export async function poolOf(
  size: number,
  options: Omit<PoolOptions, "size" | "discovery" | "quorum"> = {},
): Promise<WorkerPool> {
  atHand = atHand.filter((worker) => isRunning(worker.metadata?.pid));
  while (atHand.length < size) {
    const worker = new LocalWorker();
    await worker.start();
    atHand.push(worker);
  }
  const workers = atHand.slice(0, size).flatMap(({ metadata }) => metadata ?? []);
  return await WorkerPool.start({ ...options, discovery: new StaticDiscovery(workers), quorum: size });
}
