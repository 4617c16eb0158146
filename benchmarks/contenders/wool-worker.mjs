import { LocalWorker } from "wool-ts";

/** One worker process without a pool. `open` resolves when it takes tasks. */
export async function open() {
  const worker = new LocalWorker();
  await worker.start();
  return { close: () => worker.stop() };
}
