import { isDeepStrictEqual } from "node:util";
import { type DnsRecord, nameKey } from "../dns-message.ts";
import { LONGEST_TTL } from "./lan-service.ts";

/** A record that is gone is kept for a moment, since another who shares it may say otherwise. In milliseconds. */
export const GOODBYE_MS = 1000;
/** Records that came within this time of each other belong together, in milliseconds. */
const FLUSH_MS = 1000;
/** At these parts of its time a record is asked for again. */
export const FIRST_RENEWAL = 0.8;
const RENEWALS = [FIRST_RENEWAL, 0.85, 0.9, 0.95];

/** What was heard, with how long it holds. */
export interface CachedRecord {
  readonly record: DnsRecord;
  /** Where it was heard; the same record may be true behind one interface and not behind another. */
  readonly source: string;
  /** On the clock of `performance.now`. */
  received: number;
  expires: number;
  /** How often it was asked for again. */
  renewals: number;
}

/** The records that were heard on the network and have not expired. */
export class RecordCache {
  readonly #records = new Map<string, CachedRecord[]>();
  #size = 0;
  readonly #limit: number;

  /** `limit`: how many records it holds; beyond it takes no new ones. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  /** Takes a record in; true when that may have changed something, false when it is known or there is no room. */
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

  /** The records of a name and type, the newest first. Of the pointers of a name, those that lead to `data`. */
  find(type: DnsRecord["type"], name: string, data = ""): CachedRecord[] {
    const records = this.#records.get(cacheKey(type, name, data)) ?? [];
    return records.toSorted((a, b) => b.received - a.received);
  }

  /** The pointers of a name. */
  pointers(name: string): CachedRecord[] {
    const prefix = cacheKey("PTR", name, "");
    return [...this.#records].flatMap(([key, records]) => (key.startsWith(prefix) ? records : []));
  }

  /** Removes what has expired and returns it. */
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

  /** Records of a type that are to be asked for again now, since their time is nearly over. */
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

  /** When something is to be done next, for a type that is renewed; `undefined` when nothing is known. */
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

/** The seconds for which a record still holds. */
export function secondsLeft({ expires }: CachedRecord, now: number): number {
  return Math.max(0, Math.floor((expires - now) / 1000));
}

function renewalAt({ received, expires, record, renewals }: CachedRecord): number {
  const part = RENEWALS[renewals];
  // One that is on its way out is not asked for.
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

/** A name has one entry for each of its pointers, since it may have very many. */
function cacheKey(type: string, name: string, data: string): string {
  return `${type} ${nameKey(name)} ${nameKey(data)}`;
}
