import { Piscina } from "piscina";

const ADD = { name: "add" };
const ECHO = { name: "echo" };
const BURN = { name: "burn" };

export async function open({ size = 2, concurrentTasksPerWorker = 1 } = {}) {
  const pool = new Piscina({
    filename: new URL("./piscina-worker.mjs", import.meta.url).href,
    minThreads: size,
    maxThreads: size,
    concurrentTasksPerWorker,
  });
  return {
    add: (x, y) => pool.run({ x, y }, ADD),
    echo: (value) => pool.run(value, ECHO),
    burn: (steps, seed) => pool.run({ steps, seed }, BURN),
    close: () => pool.destroy(),
  };
}
