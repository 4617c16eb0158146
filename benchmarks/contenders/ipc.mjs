import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("./ipc-worker.mjs", import.meta.url));

/** Node's own channel to forked processes, round robin. */
export async function open({ size = 2, serialization = "json" } = {}) {
  const pending = new Map();
  const workers = Array.from({ length: size }, () => fork(WORKER, { serialization }));
  for (const worker of workers) {
    worker.on("message", ([id, result]) => {
      const resolve = pending.get(id);
      pending.delete(id);
      resolve(result);
    });
  }
  let lastId = 0;
  const call = (name, args) =>
    new Promise((resolve) => {
      const id = ++lastId;
      pending.set(id, resolve);
      workers[id % size].send([id, name, args]);
    });
  return {
    add: (x, y) => call("add", [x, y]),
    echo: (value) => call("echo", [value]),
    burn: (steps, seed) => call("burn", [steps, seed]),
    async close() {
      await Promise.all(
        workers.map((worker) => {
          const exited = once(worker, "exit");
          worker.disconnect();
          return exited;
        }),
      );
    },
  };
}
