import { readFileSync, readlinkSync } from "node:fs";
import { errorCode } from "../checks/index.ts";
import { readProcessTable } from "./process-table.ts";

/** Identifies a process: a later process with the same pid has another identity. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, as opaque text; empty where the platform does not tell. */
  readonly startTime: string;
  /** Boot and pid namespace in which the pid counts; absent where the platform has none. */
  readonly pidSpace?: string;
}

/** The identity of the running process `pid`, or `undefined` when there is none. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!isPid(pid)) return undefined;
  const table = readProcessTable([pid]);
  const record = table?.get(pid);
  const isRunning = table === undefined ? answersSignals(pid) : record !== undefined && !record.isEnding;
  if (!isRunning) return undefined;
  const pidSpace = currentPidSpace();
  return { pid, startTime: record?.startTime ?? "", ...(pidSpace === undefined ? {} : { pidSpace }) };
}

let ownIdentity: ProcessIdentity | undefined;

/** The identity of this process. */
export function currentProcess(): ProcessIdentity {
  ownIdentity ??= identifyProcess(process.pid) ?? { pid: process.pid, startTime: "" };
  return ownIdentity;
}

/** True while that very process runs. False for another process with its pid, and for a process that is ending. */
export function isProcessAlive(identity: ProcessIdentity): boolean {
  return areProcessesAlive([identity])[0] === true;
}

/** `isProcessAlive` for many at once, with one read of the process table. */
export function areProcessesAlive(identities: readonly ProcessIdentity[]): boolean[] {
  const pidSpace = currentPidSpace();
  const pids = new Set(identities.map(({ pid }) => pid).filter(isPid));
  const table = readProcessTable([...pids]);
  return identities.map((identity) => {
    if (!isPid(identity.pid)) return false;
    if (identity.pidSpace !== undefined && pidSpace !== undefined && identity.pidSpace !== pidSpace) {
      // Pids of another container mean nothing here. If they counted as dead, their files would be removed.
      return bootOf(identity.pidSpace) === bootOf(pidSpace);
    }
    if (table === undefined) return answersSignals(identity.pid);
    const record = table.get(identity.pid);
    if (record === undefined || record.isEnding) return false;
    return identity.startTime === "" || identity.startTime === record.startTime;
  });
}

/** Tells whether a value read from outside has the shape of a `ProcessIdentity`. */
export function isProcessIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== "object" || value === null) return false;
  if (!("pid" in value) || !isPid(value.pid)) return false;
  if (!("startTime" in value) || typeof value.startTime !== "string") return false;
  return !("pidSpace" in value) || value.pidSpace === undefined || typeof value.pidSpace === "string";
}

function isPid(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

let ownPidSpace: { readonly value: string | undefined } | undefined;

function currentPidSpace(): string | undefined {
  ownPidSpace ??= { value: readPidSpace() };
  return ownPidSpace.value;
}

function readPidSpace(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

function bootOf(pidSpace: string): string {
  return pidSpace.slice(0, pidSpace.indexOf("/"));
}
