import { readdirSync, readFileSync } from "node:fs";

/** The CPU time of all threads of these processes so far, in microseconds. Threads that have ended do not count. */
export function cpuTimeOf(pids) {
  let sum = 0;
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      // In nanoseconds, because the figures of the operating system for a process are rounded to hundredths of a
      // second.
      sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1000;
    }
  }
  return sum;
}
