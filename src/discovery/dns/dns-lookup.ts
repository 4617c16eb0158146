import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { asError, messageOf } from "../../checks/index.ts";
import { DiscoveryError } from "../../errors.ts";
import { type DnsMessage, type DnsRecord, nameKey } from "../dns-message.ts";
import { joinAddress } from "../network-addresses.ts";
import { askNameServer, type NameServer } from "./dns-query.ts";

const MOST_ALIASES = 8;
/** Hosts of a service that are looked up at the same time: each uses one socket for IPv4 and one for IPv6. */
const MOST_AT_ONCE = 32;
const SYSTEM_SETTINGS = "/etc/resolv.conf";

/** How names are looked up. */
export interface LookupSettings {
  readonly servers: readonly NameServer[];
  /** Domains in which short names are looked up. */
  readonly search: readonly string[];
  /** A name with at least this many dots is first looked up as it is. */
  readonly ndots: number;
  /** Aborted when nobody needs the answer any more. */
  readonly signal?: AbortSignal;
}

/** The result of a lookup. */
export interface Found {
  /** As `host:port`. */
  readonly addresses: readonly string[];
  /** Seconds that the result is valid. */
  readonly ttl: number;
}

/** The settings of this machine. */
export function systemSettings(): LookupSettings {
  const servers: NameServer[] = [];
  let search: string[] = [];
  let ndots = 1;
  for (const line of readSettings().split("\n")) {
    const [key, ...values] = line.trim().split(/\s+/);
    if (key === "nameserver" && isIP((values[0] ?? "").replace(/%.*$/, "")) !== 0) {
      servers.push({ host: values[0] ?? "", port: 53 });
    } else if (key === "search" || key === "domain") search = values;
    else if (key === "options") {
      const option = values.find((value) => value.startsWith("ndots:"));
      if (option !== undefined) ndots = Number(option.slice("ndots:".length));
    }
  }
  return { servers, search, ndots };
}

/** The addresses of the workers that the SRV records of a name point to. */
export async function lookupServices(name: string, settings: LookupSettings, timeout: number): Promise<Found> {
  const { records, additionals, ttl, isEmpty } = await lookup(name, "SRV", settings, timeout);
  if (isEmpty) return { addresses: [], ttl };
  const lowest = Math.min(...records.map((record) => (record.type === "SRV" ? (record.data.priority ?? 0) : 0)));
  const told = new Map<string, DnsRecord[]>();
  for (const record of additionals) {
    if (!isAddress(record.type)) continue;
    const key = nameKey(record.name);
    told.set(key, [...(told.get(key) ?? []), record]);
  }
  const locate = async (record: DnsRecord): Promise<Found> => {
    if (record.type !== "SRV" || (record.data.priority ?? 0) !== lowest) return { addresses: [], ttl: record.ttl };
    const { target, port } = record.data;
    const known = told.get(nameKey(target));
    if (known !== undefined) return addressesOf(known, port);
    return await lookupAddresses(target, port, { ...settings, search: [], ndots: 0 }, timeout);
  };
  const found: Found[] = [];
  for (let start = 0; start < records.length; start += MOST_AT_ONCE) {
    found.push(...(await Promise.all(records.slice(start, start + MOST_AT_ONCE).map(locate))));
  }
  return {
    addresses: found.flatMap(({ addresses }) => addresses),
    ttl: Math.min(ttl, ...found.map((each) => each.ttl)),
  };
}

/** The addresses of a name, with a port. */
export async function lookupAddresses(
  name: string,
  port: number,
  settings: LookupSettings,
  timeout: number,
): Promise<Found> {
  const answers = await Promise.allSettled([
    lookup(name, "A", settings, timeout),
    lookup(name, "AAAA", settings, timeout),
  ]);
  const known = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  const found = addressesOf(
    known.flatMap(({ records }) => records),
    port,
  );
  if (found.addresses.length > 0) return found;
  // Some name servers refuse one question and answer the other. If the other has no address, the result is unknown.
  for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
  return { addresses: [], ttl: Math.min(...known.map(({ ttl }) => ttl)) };
}

interface Answer {
  readonly records: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
  readonly ttl: number;
  readonly isEmpty: boolean;
}

/** Looks up a name in each domain that it may be in. Throws when none has it and one of them could not be asked. */
async function lookup(
  name: string,
  type: "SRV" | "A" | "AAAA",
  settings: LookupSettings,
  timeout: number,
): Promise<Answer> {
  let empty: Answer | undefined;
  let failure: Error | undefined;
  for (const candidate of candidates(name, settings)) {
    try {
      const answer = await lookupExactly(candidate, type, settings, timeout);
      if (!answer.isEmpty) return answer;
      empty ??= answer;
    } catch (error) {
      failure ??= asError(error);
    }
  }
  if (failure !== undefined) throw failure;
  return empty ?? { records: [], additionals: [], ttl: 0, isEmpty: true };
}

/** Asks for exactly this name, and follows aliases. */
async function lookupExactly(
  name: string,
  type: "SRV" | "A" | "AAAA",
  settings: LookupSettings,
  timeout: number,
): Promise<Answer> {
  let wanted = name;
  let ttl = Number.POSITIVE_INFINITY;
  let message = await askAny(settings, wanted, type, timeout);
  for (let aliases = 0; aliases < MOST_ALIASES; aliases++) {
    const own = message.answers.filter((record) => nameKey(record.name) === nameKey(wanted));
    const records = own.filter((record) => record.type === type);
    const { additionals = [], negativeTtl = 0 } = message;
    if (records.length > 0) {
      return { records, additionals, ttl: Math.min(ttl, ...records.map((record) => record.ttl)), isEmpty: false };
    }
    const alias = own.find((record) => record.type === "CNAME");
    if (alias?.type !== "CNAME") return { records, additionals, ttl: Math.min(ttl, negativeTtl), isEmpty: true };
    wanted = alias.data;
    ttl = Math.min(ttl, alias.ttl);
    // A server may include the target of an alias in the same answer.
    const isKnown = message.answers.some((record) => nameKey(record.name) === nameKey(wanted));
    if (!isKnown) message = await askAny(settings, wanted, type, timeout);
  }
  throw new DiscoveryError(`${name} has more than ${MOST_ALIASES} aliases in a row`);
}

/** Asks one server after the other until one gives a final answer. */
async function askAny(
  { servers, signal }: LookupSettings,
  name: string,
  type: "SRV" | "A" | "AAAA",
  timeout: number,
): Promise<DnsMessage> {
  const failures: string[] = [];
  for (const server of servers) {
    try {
      const message = await askNameServer(server, { name, type }, timeout, signal);
      if (message.verdict === "NOERROR" || message.verdict === "NXDOMAIN") return message;
      failures.push(`the name server ${joinAddress(server.host, server.port)} answers ${message.verdict}`);
    } catch (error) {
      failures.push(messageOf(error));
    }
  }
  const reason = servers.length === 0 ? `${SYSTEM_SETTINGS} names no name server` : failures.join("; ");
  throw new DiscoveryError(`${name} cannot be looked up: ${reason}`);
}

function candidates(name: string, { search, ndots }: LookupSettings): string[] {
  if (name.endsWith(".")) return [name];
  const others = search.map((domain) => `${name}.${domain}`);
  const dots = name.split(".").length - 1;
  return dots >= ndots ? [name, ...others] : [...others, name];
}

function addressesOf(records: readonly DnsRecord[], port: number): Found {
  const usable = records.filter(({ type }) => isAddress(type));
  return {
    addresses: usable.map(({ data }) => joinAddress(String(data), port)),
    ttl: Math.min(...usable.map(({ ttl }) => ttl)),
  };
}

function isAddress(type: string): boolean {
  return type === "A" || type === "AAAA";
}

function readSettings(): string {
  try {
    return readFileSync(SYSTEM_SETTINGS, "utf8");
  } catch {
    return "";
  }
}
