import { createHash } from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";
import { InvalidArgument } from "../../errors.ts";
import type { DnsRecord } from "../dns-message.ts";
import { hostReach, type MachineInterface, splitAddress } from "../network-addresses.ts";
import { type ParsedWorker, type WorkerMetadata, workerFromJson, workerToJson } from "../worker-metadata.ts";

/** The service type of workers. */
export const SERVICE_TYPE = "_wool._tcp.local";

/** The name under which responders are asked for the service types that exist. */
export const SERVICE_TYPES = "_services._dns-sd._udp.local";

/** Longest time that a record counts, in seconds. */
export const LONGEST_TTL = 24 * 3600;

/** Largest text record, so that a worker and its address fit into one packet. */
const MAX_TEXT_BYTES = 900;
/** Longest string in a text record, and longest label of a name. */
const MAX_STRING_BYTES = 255;
const MAX_LABEL_BYTES = 63;

/** The fields of a worker that are JSON in its text record, because their values may contain anything. */
const JSON_FIELDS = ["tags", "extra", "channel", "languages"] as const;

/** A worker as a service of the network. */
export interface LanService {
  readonly namespace: string;
  readonly worker: WorkerMetadata;
  /** The first label of its name. */
  readonly label: string;
  /** The first label of the name of its host, which nobody else has. */
  readonly host: string;
}

/** The label for a worker's names. `attempt` grows when others have taken the earlier names. */
export function labelFor(uid: string, attempt: number): string {
  const plain = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i.test(uid) && uid.length <= MAX_LABEL_BYTES - 4;
  const base = plain ? uid : `w-${createHash("sha256").update(uid).digest("hex").slice(0, 20)}`;
  return attempt === 1 ? base : `${base}-${attempt}`;
}

/** The full name of a service. */
export function instanceName({ label }: LanService): string {
  return `${label}.${SERVICE_TYPE}`;
}

/** The name that a service has for its addresses. */
export function hostName({ host, worker }: LanService): string {
  const { host: bound = "" } = splitAddress(worker.address) ?? {};
  return hostReach(bound) === "name" ? bound : `${host}.local`;
}

/** The records of a service, by their section of a response. */
export interface ServiceRecords {
  readonly answers: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/**
 * The records of a service for the network of an interface; `undefined` when that network cannot reach it. `ttl` in
 * seconds; 0 withdraws the records.
 */
export function recordsFor(service: LanService, where: MachineInterface, ttl: number): ServiceRecords | undefined {
  const addresses = addressesFor(service.worker, where);
  const { port = 0 } = splitAddress(service.worker.address) ?? {};
  if (addresses === undefined) return undefined;
  const [name, target] = [instanceName(service), hostName(service)];
  return {
    answers: [
      { type: "PTR", name: SERVICE_TYPE, ttl, data: name },
      { type: "SRV", name, ttl, flush: true, data: { target, port, priority: 0, weight: 0 } },
      { type: "TXT", name, ttl, flush: true, data: encodeText(service) },
    ],
    additionals: addresses.map((data) => ({
      type: isIPv4(data) ? "A" : "AAAA",
      name: target,
      ttl,
      flush: true,
      data,
    })),
  };
}

/**
 * The addresses by which the network of an interface reaches a worker; none if the worker is announced with a host
 * name.
 */
function addressesFor(worker: WorkerMetadata, where: MachineInterface): string[] | undefined {
  const parts = splitAddress(worker.address);
  if (parts === undefined) return undefined;
  switch (hostReach(parts.host)) {
    case "name":
      return [];
    case "loopback":
      return where.isLoopback ? [parts.host === "localhost" ? "127.0.0.1" : parts.host] : undefined;
    case "address":
      return [parts.host.replace(/%.*$/, "")];
    case "any": {
      const own = where.addresses.map(({ address }) => address.replace(/%.*$/, ""));
      return isIPv6(parts.host) ? own : own.filter((address) => isIPv4(address));
    }
  }
}

/**
 * The text record of a service: a version, the namespace, and the metadata of the worker.
 * @throws InvalidArgument when it does not fit into one record.
 */
export function encodeText({ namespace, worker }: Pick<LanService, "namespace" | "worker">): Buffer[] {
  const json = workerToJson(worker);
  const { uid, version, pid, secure } = json;
  const strings = [
    ...pieces("txtvers", "1"),
    ...pieces("ns", namespace),
    ...pieces("uid", uid),
    ...pieces("version", version),
    ...pieces("pid", String(pid)),
    ...(secure ? pieces("secure", "1") : []),
    ...JSON_FIELDS.flatMap((field) => {
      const text = JSON.stringify(json[field] ?? []);
      return text === "[]" || text === "{}" ? [] : pieces(field, text);
    }),
  ];
  const bytes = strings.reduce((sum, { length }) => sum + length + 1, 0);
  if (bytes <= MAX_TEXT_BYTES) return strings;
  throw new InvalidArgument(
    `worker ${worker.uid} cannot be announced on the network: its uid, tags, extra and namespace take ${bytes} bytes, and ` +
      `a record holds ${MAX_TEXT_BYTES}. Shorten them, or use a registry (etcd:, redis:)`,
  );
}

/** A value as strings `key=…`, `key.1=…`, each short enough for a text record. */
function pieces(key: string, value: string): Buffer[] {
  const bytes = Buffer.from(value, "utf8");
  const found: Buffer[] = [];
  let start = 0;
  do {
    const prefix = Buffer.from(found.length === 0 ? `${key}=` : `${key}.${found.length}=`);
    const end = start + MAX_STRING_BYTES - prefix.length;
    found.push(Buffer.concat([prefix, bytes.subarray(start, end)]));
    start = end;
  } while (start < bytes.length);
  return found;
}

/** The content of a text record: a worker at `address`, and its namespace. */
export type ReadText = ParsedWorker & { readonly namespace: string };

/** Reads a text record. Never throws: for a malformed record it returns the reason. */
export function decodeText(strings: readonly Buffer[], address: string): ReadText {
  const values = joinPieces(strings);
  const text = (key: string): string | undefined => values.get(key)?.toString("utf8");
  const namespace = text("ns") ?? "";
  if (text("txtvers") !== "1") return { worker: undefined, reason: "txtvers is not 1", namespace };
  const parsed: Record<string, unknown> = {
    uid: text("uid"),
    address,
    pid: Number(text("pid") ?? 0),
    version: text("version") ?? "",
    secure: text("secure") === "1",
  };
  for (const field of JSON_FIELDS) {
    const json = text(field);
    if (json === undefined) continue;
    try {
      parsed[field] = JSON.parse(json);
    } catch {
      return { worker: undefined, reason: `${field} is not JSON`, namespace };
    }
  }
  return { ...workerFromJson(parsed), namespace };
}

function joinPieces(strings: readonly Buffer[]): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (const string of strings) {
    const at = string.indexOf("=");
    const key = string.subarray(0, Math.max(at, 0)).toString("latin1").toLowerCase();
    // If a key comes twice, the first one counts, as DNS-SD requires.
    if (at > 0 && !found.has(key)) found.set(key, string.subarray(at + 1));
  }
  for (const key of Array.from(found.keys())) {
    const parts: Buffer[] = [];
    for (let index = 1, piece = found.get(`${key}.1`); piece !== undefined; piece = found.get(`${key}.${++index}`)) {
      parts.push(piece);
    }
    const first = found.get(key);
    if (parts.length > 0 && first !== undefined) found.set(key, Buffer.concat([first, ...parts]));
  }
  return found;
}
