import { readdirSync, readFileSync } from "node:fs";

/** A variable in the environment of every process of a run: a process that has it was started by that run. */
export const RUN_MARK = "WOOL_CHAOS_RUN";

/** Whether a process runs and belongs to this run. Signals go to no other process, even if an id is reused. */
export function isOwn(pid, run) {
  try {
    if (readState(pid) === "Z") return false;
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(`${RUN_MARK}=${run}`);
  } catch {
    return false;
  }
}

/** The processes of a run, other than this one: `pid: command`. */
export function ownProcesses(run) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && isOwn(name, run))
    .map((pid) => `${pid}: ${commandOf(pid)}`);
}

/** Sends a signal to a process of the run. Returns false when the process is gone. */
export function signalOwn(pid, signal, run) {
  if (pid === undefined || !isOwn(pid, run)) return false;
  process.kill(pid, signal);
  return true;
}

function readState(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2)[0];
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "gone";
  }
}
