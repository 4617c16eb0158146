import { isDeepStrictEqual } from "node:util";
import { type DnsRecord, nameKey } from "../dns-message.ts";
import { LONGEST_TTL } from "./lan-service.ts";

/** How long a withdrawn record is kept, in milliseconds: another program that shares it may contradict. */
export const GOODBYE_MS = 1000;
/** Records that came within this time of each other belong together, in milliseconds. */
const FLUSH_MS = 1000;
/** The parts of its lifetime after which a record is asked for again. */
export const FIRST_RENEWAL = 0.8;
const RENEWALS = [FIRST_RENEWAL, 0.85, 0.9, 0.95];

/** A record from the network, with its lifetime. */
export interface CachedRecord {
  readonly record: DnsRecord;
  /** The interface it came from: a record may be true for one interface and not for another. */
  readonly source: string;
  /** On the clock of `performance.now`. */
  received: number;
  expires: number;
  /** How often it has been asked for again. */
  renewals: number;
}

/** The records from the network that have not expired. */
export class RecordCache {
  readonly #records = new Map<string, CachedRecord[]>();
  #size = 0;
  readonly #limit: number;

  /** `limit`: how many records it holds; when it is full, it takes no new ones. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Adds a record. Returns true when that may have changed something, false when the record is known or there is no
   * room.
   */
  add(record: DnsRecord, source: string, now: number): boolean {
    const key = keyOf(record);
    const records = this.#records.get(key) ?? [];
    const isGone = record.ttl === 0;
    let changed = false;
    if (record.flush === true) {
      for (const other of records) {
        if (other.source !== source || now - other.received < FLUSH_MS || isSame(other, record)) continue;
        other.expires = Math.min(other.expires, now + GOODBYE_MS);
        changed = true;
      }
    }
    const known = records.find((other) => other.source === source && isSame(other, record));
    if (known !== undefined) {
      known.received = now;
      known.expires = isGone ? Math.min(known.expires, now + GOODBYE_MS) : now + lifetime(record);
      known.renewals = 0;
      return changed || isGone;
    }
    if (isGone || this.#size >= this.#limit) return changed;
    records.push({ record, source, received: now, expires: now + lifetime(record), renewals: 0 });
    this.#records.set(key, records);
    this.#size++;
    return true;
  }

  /** The records of a name and type, the newest first. For pointers, those that lead to `data`. */
  find(type: DnsRecord["type"], name: string, data = ""): CachedRecord[] {
    const records = this.#records.get(cacheKey(type, name, data)) ?? [];
    return records.toSorted((a, b) => b.received - a.received);
  }

  /** The pointers of a name. */
  pointers(name: string): CachedRecord[] {
    const prefix = cacheKey("PTR", name, "");
    return [...this.#records].flatMap(([key, records]) => (key.startsWith(prefix) ? records : []));
  }

  /** Removes the expired records and returns them. */
  expire(now: number): DnsRecord[] {
    const gone: DnsRecord[] = [];
    for (const [key, records] of this.#records) {
      if (!records.some(({ expires }) => expires <= now)) continue;
      const left = records.filter(({ expires }) => expires > now);
      for (const { record, expires } of records) if (expires <= now) gone.push(record);
      if (left.length === 0) this.#records.delete(key);
      else this.#records.set(key, left);
    }
    this.#size -= gone.length;
    return gone;
  }

  /** Records of a type that must be asked for again now, because their time is nearly over. */
  renewals(type: DnsRecord["type"], now: number): DnsRecord[] {
    const due: DnsRecord[] = [];
    for (const records of this.#records.values()) {
      for (const cached of records) {
        if (cached.record.type !== type || renewalAt(cached) > now) continue;
        while (renewalAt(cached) <= now) cached.renewals++;
        due.push(cached.record);
      }
    }
    return due;
  }

  /** When the next record expires or, for the given type, must be renewed; `undefined` when there are no records. */
  nextDue(type: DnsRecord["type"]): number | undefined {
    let due: number | undefined;
    for (const records of this.#records.values()) {
      for (const cached of records) {
        const at = cached.record.type === type ? Math.min(cached.expires, renewalAt(cached)) : cached.expires;
        if (due === undefined || at < due) due = at;
      }
    }
    return due;
  }
}

/** The seconds for which a record is still valid. */
export function secondsLeft({ expires }: CachedRecord, now: number): number {
  return Math.max(0, Math.floor((expires - now) / 1000));
}

function renewalAt({ received, expires, record, renewals }: CachedRecord): number {
  const part = RENEWALS[renewals];
  // A withdrawn record is not asked for again.
  if (part === undefined || expires < received + lifetime(record)) return Number.POSITIVE_INFINITY;
  return received + part * lifetime(record);
}

function lifetime({ ttl }: DnsRecord): number {
  return Math.min(ttl, LONGEST_TTL) * 1000;
}

function isSame({ record }: CachedRecord, other: DnsRecord): boolean {
  return isDeepStrictEqual(record.data, other.data);
}

function keyOf(record: DnsRecord): string {
  return cacheKey(record.type, record.name, record.type === "PTR" ? record.data : "");
}

/** Each pointer of a name has its own entry, because a name may have very many. */
function cacheKey(type: string, name: string, data: string): string {
  return `${type} ${nameKey(name)} ${nameKey(data)}`;
}
