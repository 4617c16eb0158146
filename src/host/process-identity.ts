import { readFileSync, readlinkSync } from "node:fs";
import { errorCode } from "../checks/index.ts";
import { readProcessTable } from "./process-table.ts";

/** A process that no later process with the same pid can be mistaken for. */
export interface ProcessIdentity {
  readonly pid: number;
  /** As `processStartTime` gave it; empty where the platform does not tell. */
  readonly startTime: string;
  /** Boot and pid namespace in which the pid counts; absent where the platform has no such notion. */
  readonly scope?: string;
}

/** When process `pid` started, as opaque text; `undefined` when it does not run or the platform does not tell. */
export function processStartTime(pid: number): string | undefined {
  if (!isPid(pid)) return undefined;
  const record = readProcessTable([pid])?.get(pid);
  return record === undefined || record.isEnding ? undefined : record.startTime;
}

/** The identity of the running process `pid`, or `undefined` when there is none. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!isPid(pid)) return undefined;
  const table = readProcessTable([pid]);
  const record = table?.get(pid);
  const isRunning = table === undefined ? answersSignals(pid) : record !== undefined && !record.isEnding;
  if (!isRunning) return undefined;
  const scope = processScope();
  return { pid, startTime: record?.startTime ?? "", ...(scope === undefined ? {} : { scope }) };
}

let ownIdentity: ProcessIdentity | undefined;

/** The identity of this process. */
export function currentProcess(): ProcessIdentity {
  ownIdentity ??= identifyProcess(process.pid) ?? { pid: process.pid, startTime: "" };
  return ownIdentity;
}

/** True while that very process runs; another one that got its pid does not count, nor does one that ends. */
export function isProcessAlive(identity: ProcessIdentity): boolean {
  return areProcessesAlive([identity])[0] === true;
}

/** `isProcessAlive` for many at once, at the price of one look at the process table. */
export function areProcessesAlive(identities: readonly ProcessIdentity[]): boolean[] {
  const scope = processScope();
  const pids = new Set(identities.map(({ pid }) => pid).filter(isPid));
  const table = readProcessTable([...pids]);
  return identities.map((identity) => {
    if (!isPid(identity.pid)) return false;
    if (identity.scope !== undefined && scope !== undefined && identity.scope !== scope) {
      // Pids of another container say nothing here. Taking its processes for dead would remove what they use.
      return bootOf(identity.scope) === bootOf(scope);
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
  return !("scope" in value) || value.scope === undefined || typeof value.scope === "string";
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

let scopeOfThisProcess: { readonly value: string | undefined } | undefined;

function processScope(): string | undefined {
  scopeOfThisProcess ??= { value: readProcessScope() };
  return scopeOfThisProcess.value;
}

function readProcessScope(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

function bootOf(scope: string): string {
  return scope.slice(0, scope.indexOf("/"));
}
