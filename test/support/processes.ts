import { readdirSync, readFileSync } from "node:fs";
import { until } from "./until.ts";

/** Whether a process runs. One that has ended and waits to be collected does not. */
export function isRunning(pid: number | undefined): boolean {
  if (pid === undefined || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return readStat(pid)?.state !== "Z";
}

/** Ends a process at once. Throws unless `pid` is a process id: 0 and negative numbers mean whole groups. */
export function killProcess(pid: number | undefined): void {
  if (pid === undefined || pid <= 0) throw new RangeError(`${pid} is not the id of a process`);
  process.kill(pid, "SIGKILL");
}

/** Stops all threads of a process where they are, until it is told to go on. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  // The signal is sent at once, but a thread on another core obeys it a little later.
  const threads = (): string[] => readdirSync(`/proc/${pid}/task`);
  await until(() => threads().every((thread) => readStat(`${pid}/task/${thread}`)?.state === "T"), "it is frozen");
}

/** Processes that run and were started by this one, or by the one given. */
export function runningChildren(of = process.pid): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readStat(pid)?.parent === of && isRunning(pid));
}

/** What Linux reports about a process or thread, or `undefined` when it is gone. */
function readStat(pid: number | string): { readonly state: string; readonly parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
