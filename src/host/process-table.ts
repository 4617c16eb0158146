import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** The operating system's record of one process. */
export interface ProcessRecord {
  /** When it started: opaque, comparable only with another record of the same machine. */
  readonly startTime: string;
  /** True from the moment it begins to end, and while it waits for its parent to collect it. */
  readonly isEnding: boolean;
}

/** The processes among `pids` that exist, or `undefined` where the platform cannot tell. */
export function readProcessTable(pids: readonly number[]): ReadonlyMap<number, ProcessRecord> | undefined {
  return hasProcFilesystem() ? readFromProc(pids) : readFromPs(pids);
}

let procFilesystem: boolean | undefined;

function hasProcFilesystem(): boolean {
  procFilesystem ??= process.platform === "linux" && existsSync("/proc/self/stat");
  return procFilesystem;
}

function readFromProc(pids: readonly number[]): ReadonlyMap<number, ProcessRecord> {
  const table = new Map<number, ProcessRecord>();
  for (const pid of pids) {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    } catch {
      continue;
    }
    const record = parseProcStat(stat);
    if (record !== undefined) table.set(pid, record);
  }
  return table;
}

/**
 * The kernel's flag for a process that is ending. It is set before the process closes its files, so peers that see
 * those close also see the flag.
 */
const EXITING = 0x4;

/** Reads a line of `/proc/<pid>/stat`. */
export function parseProcStat(stat: string): ProcessRecord | undefined {
  // The command name in field 2 may hold spaces and parentheses, so fields are counted from its last ")".
  const fields = stat.slice(stat.lastIndexOf(")") + 1).trim();
  const [state, ...rest] = fields.split(" ");
  const [flags, startTime] = [Number(rest[5]), rest[18]];
  if (state === undefined || startTime === undefined || !/^\d+$/.test(startTime)) return undefined;
  return { startTime, isEnding: state === "Z" || state === "X" || (flags & EXITING) !== 0 };
}

/** Asks `ps`, in one run for all of `pids`; `undefined` when there is no usable `ps`. */
export function readFromPs(pids: readonly number[]): ReadonlyMap<number, ProcessRecord> | undefined {
  if (process.platform === "win32") return undefined;
  const table = new Map<number, ProcessRecord>();
  if (pids.length === 0) return table;
  const { stdout, error, status } = spawnSync("ps", ["-o", "pid=,stat=,lstart=", "-p", pids.join(",")], {
    encoding: "utf8",
    // Start times are compared as text: they must not depend on who asks.
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  // With status 1 ps says that it found none of them.
  if (error !== undefined || (status !== 0 && status !== 1)) return undefined;
  for (const line of stdout.split("\n")) {
    const [, pid, state, startTime] = /^\s*(\d+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line) ?? [];
    if (pid === undefined || state === undefined || startTime === undefined) continue;
    table.set(Number(pid), { startTime, isEnding: /^Z|E/.test(state) });
  }
  return table;
}
