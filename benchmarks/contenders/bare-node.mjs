import { spawn } from "node:child_process";
import { once } from "node:events";

/** Node processes that do nothing: what starting a process costs without any runtime. */
export async function open({ size = 1 } = {}) {
  const processes = Array.from({ length: size }, () => spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }));
  const exits = await Promise.all(processes.map((child) => once(child, "exit")));
  if (exits.some(([code]) => code !== 0)) throw new Error("node -e 0 failed");
  return { add: async (x, y) => x + y, close: async () => undefined };
}
