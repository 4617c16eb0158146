import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** `multiprocessing.Pool.starmap` of Python, with the chunk size that suits it. */
export async function open({ size = 2 } = {}) {
  const child = spawn("python3", [fileURLToPath(new URL("python-pool.py", import.meta.url)), String(size)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    /** The sum of the results. */
    async mapAll(count) {
      child.stdin.write(`${count}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error("python3 has ended");
      return Number(value);
    },
    async close() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
    },
  };
}
