import type { RemoteInfo } from "node:dgram";
import { isDeepStrictEqual } from "node:util";
import { uniqueName } from "../../host/index.ts";
import { type DnsMessage, type DnsRecord, encodeMessage, nameKey } from "../dns-message.ts";
import type { MachineInterface } from "../network-addresses.ts";
import type { LanLink } from "./lan-link.ts";
import { packProbes, packReply, packResponses } from "./lan-packets.ts";
import {
  hostName,
  instanceName,
  type LanService,
  labelFor,
  recordsFor,
  SERVICE_TYPE,
  SERVICE_TYPES,
  type ServiceRecords,
} from "./lan-service.ts";

const PROBES = 3;
const PROBE_WAIT_MS = 250;
/** How long the loser of a simultaneous probe waits before the next try, in milliseconds. */
const LOST_PROBE_WAIT_MS = 1000;
const SECOND_ANNOUNCEMENT_MS = 1000;
/**
 * How long answers wait for others to share a packet, in milliseconds. Random, so that responders do not all answer at
 * once.
 */
const [SHORTEST_JITTER_MS, LONGEST_JITTER_MS] = [20, 120];
/** When a query with more known answers to come is answered, in milliseconds. */
const [SHORTEST_TRUNCATED_MS, LONGEST_TRUNCATED_MS] = [400, 500];
/** Shortest time between two sendings of a record, in milliseconds; and if another program probes for its name. */
const RATE_MS = 1000;
const DEFENCE_RATE_MS = 250;
/** How long an answer to a sender with another port is valid, in seconds. Such a sender has no cache. */
const LEGACY_TTL = 10;

/** `probing` for its name, `announced`, or `gone`. */
interface Announced {
  service: LanService;
  state: "probing" | "announced" | "gone";
  /** How many names were tried. */
  attempt: number;
  /** Probes that are still to be sent. */
  probesLeft: number;
  lastSent: number;
  timer: NodeJS.Timeout | undefined;
  readonly claimed: (() => void)[];
}

/** Announces the services of this process on the network, and answers those who ask for them. */
export class LanResponder {
  readonly #link: LanLink;
  /** Seconds that others may keep the records of this process. */
  readonly #ttl: number;
  readonly #services = new Map<string, Announced>();
  /** By the name of the service and by the name of its host. */
  readonly #names = new Map<string, Announced>();
  readonly #due = new Set<Announced>();
  /** Answers that the sender of a query already knows, from the first packet of the query to the last. */
  readonly #knownBy = new Map<string, DnsRecord[]>();
  readonly #waits = new Set<NodeJS.Timeout>();
  #flushing: NodeJS.Timeout | undefined;

  constructor(link: LanLink, ttl: number) {
    this.#link = link;
    this.#ttl = ttl;
  }

  /** The services whose names are claimed, by uid. */
  get size(): number {
    return this.#services.size;
  }

  /** Whether a service of this process has that name. */
  owns(name: string): boolean {
    return this.#names.has(nameKey(name));
  }

  /** Announces a service, or its change. Resolves when others were told. */
  async publish(namespace: string, worker: LanService["worker"]): Promise<void> {
    const known = this.#services.get(worker.uid);
    if (known !== undefined) {
      this.#replace(known, { ...known.service, worker });
      if (known.state === "probing") return this.#claimed(known);
      await this.#tell([known], this.#ttl);
      this.#repeat(known);
      return;
    }
    const announced: Announced = {
      service: { namespace, worker, label: labelFor(worker.uid, 1), host: `wool-${uniqueName()}` },
      state: "probing",
      attempt: 1,
      probesLeft: PROBES,
      lastSent: Number.NEGATIVE_INFINITY,
      timer: undefined,
      claimed: [],
    };
    this.#services.set(worker.uid, announced);
    this.#index(announced);
    this.#probeIn(announced, Math.random() * PROBE_WAIT_MS);
    await this.#claimed(announced);
  }

  /** Withdraws a service. Resolves when others were told. */
  async withdraw(uid: string): Promise<void> {
    const announced = this.#services.get(uid);
    if (announced === undefined) return;
    this.#forget(announced);
    if (announced.state === "announced") await this.#tell([announced], 0);
    announced.state = "gone";
  }

  /** Withdraws all services. */
  async close(): Promise<void> {
    const all = [...this.#services.values()];
    for (const announced of all) this.#forget(announced);
    clearTimeout(this.#flushing);
    for (const wait of this.#waits) clearTimeout(wait);
    await this.#tell(
      all.filter(({ state }) => state === "announced"),
      0,
    );
  }

  /** Announces all services again, because some programs may hear of them for the first time. */
  announceAll(): void {
    const all = [...this.#services.values()].filter(({ state }) => state === "announced");
    if (all.length > 0) void this.#tell(all, this.#ttl);
  }

  /** Handles a question from the network. */
  asked(message: DnsMessage, from: RemoteInfo): void {
    this.#defer(message);
    const key = `${from.address}:${from.port}`;
    const known = this.#knownBy.get(key);
    known?.push(...message.answers);
    const services = this.#askedFor(message);
    const asksForTypes = message.questions.some(({ name }) => nameKey(name) === SERVICE_TYPES);
    if (from.port !== this.#link.port) return this.#answerDirectly(message, services, asksForTypes, from);
    if (asksForTypes && this.#services.size > 0) this.#tellTypes();
    if (services.length === 0) return;
    if ((message.authorities ?? []).length > 0) return this.#defend(services);
    if (message.isTruncated !== true) return this.#answer(services, known ?? message.answers);
    if (known !== undefined) return;
    const answers = [...message.answers];
    this.#knownBy.set(key, answers);
    const wait = setTimeout(
      () => {
        this.#waits.delete(wait);
        this.#knownBy.delete(key);
        this.#answer(services, answers);
      },
      between(SHORTEST_TRUNCATED_MS, LONGEST_TRUNCATED_MS),
    ).unref();
    this.#waits.add(wait);
  }

  /** Handles an answer of another program: it may use a name that should be ours. */
  heard(message: DnsMessage): void {
    for (const record of message.answers) {
      if (record.type !== "SRV" || record.ttl === 0) continue;
      const announced = this.#named(record.name);
      if (announced === undefined || this.#isOwn(announced, record)) continue;
      if (announced.state === "probing") this.#rename(announced);
      else this.#probeAgain(announced, 0);
    }
  }

  /** If two programs probe for one name at the same time, the one with the smaller record waits and tries again. */
  #defer({ authorities = [] }: DnsMessage): void {
    for (const record of authorities) {
      if (record.type !== "SRV") continue;
      const announced = this.#named(record.name);
      if (announced?.state !== "probing" || this.#isOwn(announced, record)) continue;
      const [own] = this.#probeRecords(announced);
      if (own !== undefined && encodeRecord(own).compare(encodeRecord({ ...record, flush: false })) < 0) {
        this.#probeAgain(announced, LOST_PROBE_WAIT_MS);
      }
    }
  }

  /** Another program probes for names that are ours. It takes them unless it hears of us before its last probe. */
  #defend(services: readonly Announced[]): void {
    const now = performance.now();
    const silent = services.filter(({ lastSent }) => lastSent + DEFENCE_RATE_MS <= now);
    if (silent.length > 0) void this.#tell(silent, this.#ttl);
  }

  #answer(services: readonly Announced[], known: readonly DnsRecord[]): void {
    const fresh = new Set(
      known
        .filter((record) => record.type === "PTR" && record.ttl >= this.#ttl / 2)
        .map(({ data }) => nameKey(String(data))),
    );
    for (const announced of services)
      if (!fresh.has(nameKey(instanceName(announced.service)))) this.#due.add(announced);
    if (this.#due.size === 0) return;
    this.#flushing ??= setTimeout(() => this.#flush(), between(SHORTEST_JITTER_MS, LONGEST_JITTER_MS)).unref();
  }

  #flush(): void {
    this.#flushing = undefined;
    const now = performance.now();
    const ready = [...this.#due].filter(({ state, lastSent }) => state !== "announced" || lastSent + RATE_MS <= now);
    for (const announced of ready) this.#due.delete(announced);
    const told = ready.filter(({ state }) => state === "announced");
    if (told.length > 0) void this.#tell(told, this.#ttl);
    if (this.#due.size > 0) this.#flushing = setTimeout(() => this.#flush(), RATE_MS).unref();
  }

  /** A sender with another port is not a multicast DNS program. It gets its own answer, as much as one packet holds. */
  #answerDirectly(query: DnsMessage, services: readonly Announced[], types: boolean, from: RemoteInfo): void {
    const source = this.#link.sourceOf(from);
    const interfaces = this.#link.interfaces.filter(({ name }) => source === undefined || name === source);
    const found = services.flatMap(
      ({ service }) => firstDefined(interfaces, (where) => recordsFor(service, where, LEGACY_TTL)) ?? [],
    );
    if (types) found.unshift({ answers: [typesRecord(LEGACY_TTL)], additionals: [] });
    if (found.length > 0) this.#link.reply(packReply(query, found), from);
  }

  #tellTypes(): void {
    const packet = encodeMessage({ kind: "response", questions: [], answers: [typesRecord(this.#ttl)] });
    void this.#link.send(() => [packet]);
  }

  #askedFor({ questions }: DnsMessage): Announced[] {
    const found = new Set<Announced>();
    for (const { name, type } of questions) {
      const key = nameKey(name);
      if (key === SERVICE_TYPE) {
        if (type === "PTR" || type === "ANY") for (const announced of this.#services.values()) found.add(announced);
      } else {
        const announced = this.#names.get(key);
        if (announced !== undefined) found.add(announced);
      }
    }
    return [...found].filter(({ state }) => state === "announced");
  }

  async #tell(announced: readonly Announced[], ttl: number): Promise<void> {
    const now = performance.now();
    for (const each of announced) each.lastSent = now;
    await this.#link.send((where) => packResponses(recordsOf(announced, where, ttl)));
  }

  /** Announces a service a second time: a single packet may be lost. */
  #repeat(announced: Announced): void {
    clearTimeout(announced.timer);
    announced.timer = setTimeout(() => void this.#tell([announced], this.#ttl), SECOND_ANNOUNCEMENT_MS).unref();
  }

  #probeIn(announced: Announced, ms: number): void {
    clearTimeout(announced.timer);
    // Somebody waits for it, so this timer keeps the program alive.
    announced.timer = setTimeout(() => this.#probe(announced), ms);
  }

  #probe(announced: Announced): void {
    if (announced.probesLeft === 0) return this.#claim(announced);
    announced.probesLeft--;
    const probe = { name: instanceName(announced.service), records: this.#probeRecords(announced) };
    void this.#link.send(() => packProbes([probe]));
    this.#probeIn(announced, PROBE_WAIT_MS);
  }

  /** Nobody objected, so the name is ours. */
  #claim(announced: Announced): void {
    announced.state = "announced";
    void this.#tell([announced], this.#ttl).then(() => {
      for (const claimed of announced.claimed.splice(0)) claimed();
    });
    this.#repeat(announced);
  }

  #claimed(announced: Announced): Promise<void> {
    return new Promise((resolve) => announced.claimed.push(resolve));
  }

  #rename(announced: Announced): void {
    announced.attempt++;
    const { service } = announced;
    this.#replace(announced, { ...service, label: labelFor(service.worker.uid, announced.attempt) });
    this.#probeAgain(announced, 0);
  }

  #probeAgain(announced: Announced, ms: number): void {
    announced.state = "probing";
    announced.probesLeft = PROBES;
    this.#probeIn(announced, ms);
  }

  #probeRecords({ service }: Announced): DnsRecord[] {
    const { answers = [] } =
      firstDefined(this.#link.interfaces, (where) => recordsFor(service, where, this.#ttl)) ?? {};
    return answers.filter(({ type }) => type === "SRV").map((record) => ({ ...record, flush: false }));
  }

  #isOwn(announced: Announced, record: DnsRecord): boolean {
    return this.#probeRecords(announced).some(({ data }) => isDeepStrictEqual(data, record.data));
  }

  #named(name: string): Announced | undefined {
    return this.#names.get(nameKey(name));
  }

  #index(announced: Announced): void {
    const { service } = announced;
    this.#names.set(nameKey(instanceName(service)), announced);
    this.#names.set(nameKey(hostName(service)), announced);
  }

  #unindex({ service }: Announced): void {
    this.#names.delete(nameKey(instanceName(service)));
    this.#names.delete(nameKey(hostName(service)));
  }

  #replace(announced: Announced, service: LanService): void {
    this.#unindex(announced);
    announced.service = service;
    this.#index(announced);
  }

  #forget(announced: Announced): void {
    clearTimeout(announced.timer);
    this.#unindex(announced);
    this.#services.delete(announced.service.worker.uid);
    this.#due.delete(announced);
    for (const claimed of announced.claimed.splice(0)) claimed();
  }
}

function recordsOf(announced: readonly Announced[], where: MachineInterface, ttl: number): ServiceRecords[] {
  return announced.map(({ service }) => recordsFor(service, where, ttl)).filter((records) => records !== undefined);
}

function typesRecord(ttl: number): DnsRecord {
  return { type: "PTR", name: SERVICE_TYPES, ttl, data: SERVICE_TYPE };
}

function encodeRecord(record: DnsRecord): Buffer {
  return encodeMessage({ kind: "response", questions: [], answers: [{ ...record, ttl: 0 }] });
}

function firstDefined<T, R>(items: readonly T[], get: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = get(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function between(least: number, most: number): number {
  return least + Math.random() * (most - least);
}
