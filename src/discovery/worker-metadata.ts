import { types } from "node:util";
import { describeValue, isRecord } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { DEFAULT_LANGUAGE } from "../wire/index.ts";
import { type ChannelOptions, orderChannelOptions, parseChannelOptions } from "./channel-options.ts";
import { addressProblem } from "./worker-address.ts";

/** What a worker tells about itself. */
export interface WorkerMetadata {
  /** Unique among all workers, and the same for as long as the worker lives. */
  readonly uid: string;
  /** Where it listens: `host:port`, `[ipv6]:port` or `unix:path`. */
  readonly address: string;
  /** Its process id on its own machine; 0 when unknown. */
  readonly pid: number;
  /** The version of the package it runs; empty when unknown. */
  readonly version: string;
  readonly tags: ReadonlySet<string>;
  readonly extra: Readonly<Record<string, string>>;
  /** True when it listens with TLS. */
  readonly secure: boolean;
  readonly channel: ChannelOptions;
  /** The languages of the functions that it runs. Default: `["node"]`. */
  readonly languages?: readonly string[];
}

/** `WorkerMetadata` in its written form. */
export interface WorkerMetadataJson extends Omit<WorkerMetadata, "tags"> {
  readonly tags: readonly string[];
}

/** What a worker tells about itself at any of its addresses: everything but uid, address and pid. */
export type WorkerDescription = Omit<WorkerMetadataJson, "uid" | "address" | "pid">;

/** A worker, or why a value is not a worker. */
export type ParsedWorker =
  | { readonly worker: WorkerMetadata; readonly reason?: undefined }
  | { readonly worker: undefined; readonly reason: string };

/** The JSON form of `worker`; equal workers give equal text. */
export function workerToJson(worker: WorkerMetadata): WorkerMetadataJson {
  return {
    uid: worker.uid,
    address: worker.address,
    pid: worker.pid,
    version: worker.version,
    tags: [...worker.tags].sort(),
    extra: sortedRecord(worker.extra),
    secure: worker.secure,
    channel: orderChannelOptions(worker.channel),
    ...(worker.languages === undefined ? {} : { languages: [...worker.languages].sort() }),
  };
}

/**
 * Reads what `workerToJson` wrote. Never throws: for a malformed value it returns the reason. Unknown fields are
 * ignored.
 */
export function workerFromJson(value: unknown): ParsedWorker {
  if (!isRecord(value)) return malformed("it is not an object");
  const { uid, address, pid, version, tags = [], extra = {}, secure = false, languages } = value;
  if (typeof uid !== "string" || uid === "") return malformed("uid is not a non-empty string");
  if (typeof address !== "string") return malformed("address is not a string");
  const problem = addressProblem(address);
  if (problem !== undefined) return malformed(`address ${JSON.stringify(address)} ${problem}`);
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 0) return malformed("pid is not a process id");
  if (typeof version !== "string") return malformed("version is not a string");
  if (!isStringArray(tags)) return malformed("tags is not an array of strings");
  if (!isStringRecord(extra)) return malformed("extra is not an object of strings");
  if (typeof secure !== "boolean") return malformed("secure is not a boolean");
  if (languages !== undefined && !isStringArray(languages)) return malformed("languages is not an array of strings");
  const { channel, reason } = parseChannelOptions(value["channel"] ?? {});
  if (channel === undefined) return malformed(reason);
  return {
    worker: {
      uid,
      address,
      pid,
      version,
      tags: new Set(tags),
      extra: copyRecord(extra),
      secure,
      channel,
      ...(languages === undefined ? {} : { languages }),
    },
  };
}

/**
 * Returns `worker` if it is well-formed.
 * @throws InvalidArgument that says what is wrong with it.
 */
export function checkWorker(worker: WorkerMetadata): WorkerMetadata {
  const { reason } = isRecord(worker) && types.isSet(worker.tags) ? workerFromJson(workerToJson(worker)) : NOT_METADATA;
  if (reason === undefined) return worker;
  throw new InvalidArgument(`${describeValue(worker)} is not the metadata of a worker: ${reason}.`);
}

/** Whether a worker runs functions of a language. */
export function runsLanguage({ languages }: WorkerMetadata, language: string): boolean {
  return languages === undefined ? language === DEFAULT_LANGUAGE : languages.includes(language);
}

/** Whether two workers have equal metadata. */
export function equalWorkers(a: WorkerMetadata, b: WorkerMetadata): boolean {
  return a === b || JSON.stringify(workerToJson(a)) === JSON.stringify(workerToJson(b));
}

const NOT_METADATA = { reason: "it is not an object whose tags are a Set" };

function malformed(reason: string): ParsedWorker {
  return { worker: undefined, reason };
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isStringRecord(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((item) => typeof item === "string");
}

function copyRecord(record: Record<string, string>): Record<string, string> {
  // Not a spread: data of others may have the key "__proto__".
  return Object.fromEntries(Object.entries(record));
}

function sortedRecord(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
