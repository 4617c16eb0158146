import type { RemoteInfo } from "node:dgram";
import { isIPv6 } from "node:net";
import { type DnsMessage, type DnsQuestion, type DnsRecord, nameKey } from "../dns-message.ts";
import { isBehind, joinAddress } from "../network-addresses.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import type { LanLink } from "./lan-link.ts";
import { packQuery } from "./lan-packets.ts";
import { decodeText, SERVICE_TYPE } from "./lan-service.ts";
import { type CachedRecord, FIRST_RENEWAL, GOODBYE_MS, RecordCache, secondsLeft } from "./record-cache.ts";

/** When the first questions are sent, in milliseconds. Each later pause is three times as long, up to the longest. */
const FIRST_QUERY_MS = 20;
const SECOND_QUERY_MS = 1000;
const LONGEST_QUERY_MS = 30_000;
/** How long a question waits for others to share a packet, in milliseconds. */
const GATHER_MS = 50;
/** How often the missing records of a service are asked for. */
const MOST_DETAIL_QUERIES = 5;
/** Most records that are kept from other programs. */
const CACHE_LIMIT = 50_000;

/** Events of a browser. */
export interface BrowserEvents {
  /** A worker was found in a namespace, or has changed. */
  found(name: string, namespace: string, worker: WorkerMetadata): void;
  /** The service of that name is gone. */
  lost(name: string): void;
  /** A record from another program is invalid. */
  ignored(reason: string): void;
}

/** Looks for workers on the network and follows their changes. */
export class LanBrowser {
  readonly #link: LanLink;
  readonly #events: BrowserEvents;
  readonly #cache = new RecordCache(CACHE_LIMIT);
  /** Names of services that the owner was told of. */
  readonly #found = new Set<string>();
  /** Services by the host whose address they need. */
  readonly #byHost = new Map<string, Set<string>>();
  /** The host of each service. */
  readonly #hosts = new Map<string, string>();
  /** How often the missing records of each service were asked for. */
  readonly #asked = new Map<string, number>();
  readonly #questions = new Map<string, DnsQuestion>();
  /** Texts that were reported as malformed, so that each is reported once. */
  readonly #malformed = new Map<string, string>();
  #state: "browsing" | "closed" = "browsing";
  #queryTimer: NodeJS.Timeout | undefined;
  #gatherTimer: NodeJS.Timeout | undefined;
  #dueTimer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(link: LanLink, events: BrowserEvents) {
    this.#link = link;
    this.#events = events;
    this.restart();
  }

  /** Asks for all workers now, and again after pauses: at the start, and when there are new interfaces. */
  restart(): void {
    this.#queryIn(FIRST_QUERY_MS, SECOND_QUERY_MS);
  }

  close(): void {
    this.#state = "closed";
    for (const timer of [this.#queryTimer, this.#gatherTimer, this.#dueTimer]) clearTimeout(timer);
  }

  /** Handles an answer from the network. */
  heard(message: DnsMessage, from: RemoteInfo): void {
    const now = performance.now();
    const source = this.#link.sourceOf(from) ?? "";
    const touched = new Set<string>();
    let wait = Number.POSITIVE_INFINITY;
    for (const record of [...message.answers, ...(message.additionals ?? [])]) {
      const isChanged = this.#cache.add(record, source, now);
      wait = Math.min(wait, isChanged ? GOODBYE_MS : wait, FIRST_RENEWAL * record.ttl * 1000);
      if (isChanged) for (const name of this.#concerned(record)) touched.add(name);
    }
    for (const name of touched) this.#look(name, now);
    this.#wakeAt(now + Math.max(wait, GOODBYE_MS));
  }

  /** The names of the services that a record belongs to. */
  #concerned(record: DnsRecord): string[] {
    if (record.type === "PTR") return nameKey(record.name) === SERVICE_TYPE ? [nameKey(record.data)] : [];
    if (record.type === "SRV" || record.type === "TXT")
      return isInstanceName(record.name) ? [nameKey(record.name)] : [];
    return [...(this.#byHost.get(nameKey(record.name)) ?? [])];
  }

  /** Puts together the records of a service. */
  #look(name: string, now: number): void {
    const [service] = this.#cache.find("SRV", name);
    const [text] = this.#cache.find("TXT", name);
    const isThere = this.#cache.find("PTR", SERVICE_TYPE, name).some((pointer) => !isLeaving(pointer, now));
    if (!isThere) return this.#lose(name);
    if (service?.record.type !== "SRV" || text?.record.type !== "TXT") return this.#askFor(name, "SRV", "TXT");
    const { target, port } = service.record.data;
    const host = nameKey(target);
    this.#byHost.set(host, (this.#byHost.get(host) ?? new Set()).add(name));
    this.#hosts.set(name, host);
    const address = host.endsWith(".local") ? this.#addressOf(host) : target;
    if (address === undefined) return this.#askFor(name, "A", "AAAA", host);
    this.#asked.delete(name);
    const { worker, namespace, reason } = decodeText(text.record.data, joinAddress(address, port));
    if (worker === undefined) {
      const isNews = this.#malformed.get(name) !== reason;
      this.#lose(name);
      this.#malformed.set(name, reason);
      if (isNews) this.#events.ignored(`${name}: ${reason}`);
      return;
    }
    this.#malformed.delete(name);
    this.#found.add(name);
    this.#events.found(name, namespace, worker);
  }

  #lose(name: string): void {
    this.#asked.delete(name);
    this.#malformed.delete(name);
    const host = this.#hosts.get(name);
    const others = host === undefined ? undefined : this.#byHost.get(host);
    this.#hosts.delete(name);
    others?.delete(name);
    if (host !== undefined && others?.size === 0) this.#byHost.delete(host);
    if (this.#found.delete(name)) this.#events.lost(name);
  }

  /** The address by which this machine most likely reaches a host. */
  #addressOf(host: string): string | undefined {
    const known = [...this.#cache.find("A", host), ...this.#cache.find("AAAA", host)];
    const ranked = known
      .map((cached) => ({ cached, rank: this.#rank(cached) }))
      .sort((a, b) => a.rank - b.rank || (String(a.cached.record.data) < String(b.cached.record.data) ? -1 : 1));
    const [best] = ranked;
    if (best === undefined) return undefined;
    const address = String(best.cached.record.data);
    return /^fe80:/i.test(address) ? `${address}%${best.cached.source}` : address;
  }

  #rank({ record, source }: CachedRecord): number {
    const address = String(record.data);
    const where = this.#link.interfaces.find(({ name }) => name === source);
    if (/^fe80:/i.test(address)) return where === undefined ? 9 : 5;
    if (where?.isLoopback === true) return 4;
    const isNear = where !== undefined && isBehind(where, address);
    return (isNear ? 0 : 2) + (isIPv6(address) ? 1 : 0);
  }

  #queryIn(ms: number, next: number): void {
    clearTimeout(this.#queryTimer);
    this.#queryTimer = setTimeout(() => {
      this.#queryIn(next, Math.min(3 * next, LONGEST_QUERY_MS));
      this.#queryForAll();
    }, ms).unref();
  }

  /** Asks for all workers. Workers whose records are still fresh need not answer. */
  #queryForAll(): void {
    const now = performance.now();
    for (const name of Array.from(this.#asked.keys())) this.#look(name, now);
    const known = this.#cache
      .pointers(SERVICE_TYPE)
      .map((cached) => ({ ...cached.record, ttl: secondsLeft(cached, now), full: cached.record.ttl }))
      .filter(({ ttl, full }) => ttl > full / 2)
      .map(({ full: _full, ...record }): DnsRecord => record);
    const packets = packQuery([{ name: SERVICE_TYPE, type: "PTR" }], known);
    void this.#link.send(() => packets);
  }

  /** Asks for the missing records of a service, together with those of others. */
  #askFor(name: string, first: DnsQuestion["type"], second: DnsQuestion["type"], of = name): void {
    const times = (this.#asked.get(name) ?? 0) + 1;
    if (times > MOST_DETAIL_QUERIES) return;
    this.#asked.set(name, times);
    for (const type of [first, second]) this.#questions.set(`${type} ${of}`, { name: of, type });
    this.#gatherTimer ??= setTimeout(() => {
      this.#gatherTimer = undefined;
      const questions = [...this.#questions.values()];
      this.#questions.clear();
      const packets: Buffer[] = [];
      for (let i = 0; i < questions.length; i += 8) packets.push(...packQuery(questions.slice(i, i + 8), []));
      void this.#link.send(() => packets);
    }, GATHER_MS).unref();
  }

  /** Checks at that time at the latest for records that have expired or must be asked for again. */
  #wakeAt(at: number): void {
    if (at >= this.#dueAt || this.#state === "closed") return;
    clearTimeout(this.#dueTimer);
    this.#dueAt = at;
    this.#dueTimer = setTimeout(() => this.#due(), Math.max(at - performance.now(), 1)).unref();
  }

  #due(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    const touched = new Set(this.#cache.expire(now).flatMap((record) => this.#concerned(record)));
    for (const name of touched) this.#look(name, now);
    if (this.#cache.renewals("PTR", now).some((record) => nameKey(record.name) === SERVICE_TYPE)) this.#queryForAll();
    this.#wakeAt(this.#cache.nextDue("PTR") ?? Number.POSITIVE_INFINITY);
  }
}

/** Whether a record was withdrawn and is only kept for a moment. */
function isLeaving({ received, expires, record }: CachedRecord, now: number): boolean {
  return expires - now <= GOODBYE_MS && expires < received + record.ttl * 1000;
}

/** Whether a name belongs to a service of our type. */
function isInstanceName(name: string): boolean {
  return nameKey(name).endsWith(`.${SERVICE_TYPE}`);
}
