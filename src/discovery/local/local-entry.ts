import { createHash } from "node:crypto";
import { identifyProcess, isProcessIdentity, type ProcessIdentity } from "../../host/index.ts";
import { type WorkerMetadata, workerFromJson, workerToJson } from "../worker-metadata.ts";

/** A worker as a file of a local namespace. */
export interface LocalEntry {
  readonly namespace: string;
  /** Grows with each entry that a process writes. It starts at the time in milliseconds. */
  readonly revision: number;
  readonly worker: WorkerMetadata;
  /** The processes that must live for the entry to count: its publisher and, if it could be found, the worker. */
  readonly processes: readonly ProcessIdentity[];
}

/** The processes that must live for an entry for `worker`, published by `publisher`, to count. */
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

/** The folder name of a namespace. The namespace may contain any characters. */
export function namespaceFolder(namespace: string): string {
  return `n${digest(namespace)}`;
}

/** Whether a file name is the name of a namespace's folder. */
export function isNamespaceFolder(name: string): boolean {
  return /^n[0-9a-f]{24}$/.test(name);
}

/** The file name of an entry. No two entries ever share one, so no file needs to be read twice. */
export function entryFile(uid: string, publisher: string, revision: number): string {
  return `${entryPrefix(uid)}${publisher}.${revision.toString(36)}.json`;
}

/** The prefix of the names of all entries of the worker. */
export function entryPrefix(uid: string): string {
  return `${digest(uid)}.`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}
