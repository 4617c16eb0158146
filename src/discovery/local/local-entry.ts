import { createHash } from "node:crypto";
import { identifyProcess, isProcessIdentity, type ProcessIdentity } from "../../host/index.ts";
import { type WorkerMetadata, workerFromJson, workerToJson } from "../worker-metadata.ts";

/** A worker as a file of a local namespace. */
export interface LocalEntry {
  readonly namespace: string;
  /** Counts up with each entry that a process writes, from the time it was written in milliseconds. */
  readonly revision: number;
  readonly worker: WorkerMetadata;
  /** The processes that must live for the entry to count: its publisher and, where it could be found, the worker. */
  readonly processes: readonly ProcessIdentity[];
}

/** The processes that an entry for `worker`, published by `publisher`, stands and falls with. */
export function processesOf(worker: WorkerMetadata, publisher: ProcessIdentity): ProcessIdentity[] {
  const own = worker.pid === publisher.pid ? undefined : identifyProcess(worker.pid);
  return own === undefined ? [publisher] : [publisher, own];
}

/** The text of the entry's file. */
export function formatEntry(entry: LocalEntry): string {
  return JSON.stringify({ ...entry, worker: workerToJson(entry.worker) });
}

/** Reads the text of an entry's file; `undefined` when it is not one. */
export function parseEntry(text: string): LocalEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (!("namespace" in value) || typeof value.namespace !== "string") return undefined;
  if (!("revision" in value) || typeof value.revision !== "number") return undefined;
  if (!("processes" in value) || !Array.isArray(value.processes)) return undefined;
  const processes: unknown[] = value.processes;
  if (processes.length === 0 || !processes.every(isProcessIdentity)) return undefined;
  const { worker } = workerFromJson("worker" in value ? value.worker : undefined);
  if (worker === undefined) return undefined;
  return { namespace: value.namespace, revision: value.revision, worker, processes };
}

/** The folder name of a namespace, whatever characters the namespace holds. */
export function namespaceFolder(namespace: string): string {
  return `n${digest(namespace)}`;
}

/** Tells whether a file name is that of a namespace's folder. */
export function isNamespaceFolder(name: string): boolean {
  return /^n[0-9a-f]{24}$/.test(name);
}

/** The file name of an entry. No two entries ever share one, so a file that was read once need not be read again. */
export function entryFile(uid: string, publisher: string, revision: number): string {
  return `${entryPrefix(uid)}${publisher}.${revision.toString(36)}.json`;
}

/** What the names of all entries of the worker begin with. */
export function entryPrefix(uid: string): string {
  return `${digest(uid)}.`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}
