import { randomUUID } from "node:crypto";
import type { PoolReference } from "../../call/index.ts";
import {
  type DiscoveryLike,
  type DiscoverySubscriberLike,
  subscribeToWorkers,
  type WorkerFilter,
  type WorkerMetadata,
  workerFromJson,
  workerToJson,
} from "../../discovery/index.ts";
import { UnexpectedResponse } from "../../errors.ts";
import type { Dependency } from "../../functions/index.ts";

/** How many changes are remembered. A worker that knows an earlier version is then told only what changed. */
const REMEMBERED_CHANGES = 1024;

/** Most bytes of a roster from another process: some 50,000 members. Reading them blocks the whole process. */
const MOST_NEWS_BYTES = 16 * 1024 * 1024;

/** A balancer as it travels with a roster. */
export interface EncodedBalancer {
  readonly bytes: Uint8Array;
  readonly dependencies: readonly Dependency[];
}

/** What another process says of a pool. */
export interface RosterNews {
  /** Names the pool in the whole system. */
  readonly id: string;
  readonly version: number;
  /** Whether the list names every member: workers that are not in it are not members. */
  readonly isComplete: boolean;
  readonly members: readonly WorkerMetadata[];
  /** How many characters the members take as they travel, by uid. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Uids of workers that are not members any more. */
  readonly removed: readonly string[];
  /** Most calls that may wait for room. */
  readonly maxPending: number;
  /** Why the pool's balancer cannot travel; nested calls fail with it. */
  readonly refusal: string | undefined;
}

/** Told of the members of a roster that changed: metadata, or undefined for those that left. */
export type RosterListener = (uid: string, worker: WorkerMetadata | undefined) => void;

let lastNumber = 0;

/**
 * The members of a pool, as they travel to the workers in use, so that calls made inside tasks go to the same members.
 * The pool has the first one; the others are copies that follow it. A version tells which one is newer.
 */
export class Roster implements PoolReference {
  /** Names the pool in every session of this process. */
  readonly number = ++lastNumber;
  readonly id: string;
  /** Most calls that may wait for room. */
  maxPending = Number.POSITIVE_INFINITY;
  /** The pool's balancer; undefined for the default one. */
  balancer: EncodedBalancer | undefined;
  /** Why the balancer cannot travel. */
  refusal: string | undefined;
  /** Told of each change. */
  changed: (() => void) | undefined;
  readonly #members = new Map<string, WorkerMetadata>();
  /** Of a copy: the sizes of the members that it was told of. */
  readonly #sizes = new Map<string, number>();
  #size = 0;
  /** Uids in the order in which they changed; the last one made the current version. */
  readonly #changes: string[] = [];
  readonly #listeners = new Set<RosterListener>();
  #version: number;
  /** The version that the first of `#changes` made. */
  #firstChange: number;
  #latest: { readonly since: number; readonly version: number; readonly bytes: Uint8Array } | undefined;
  #complete: { readonly version: number; readonly bytes: Uint8Array } | undefined;

  /** `id`: that of the pool whose roster this is a copy of; the copy has no members until it is told of them. */
  constructor(id?: string) {
    this.id = id ?? randomUUID();
    this.#version = id === undefined ? 1 : 0;
    this.#firstChange = this.#version + 1;
  }

  get version(): number {
    return this.#version;
  }

  get members(): ReadonlyMap<string, WorkerMetadata> {
    return this.#members;
  }

  /** Of a copy: how many characters the current members took as they travelled. */
  get size(): number {
    return this.#size + this.id.length + (this.refusal?.length ?? 0);
  }

  /** Adds a member, or replaces what is known of it. */
  admit(worker: WorkerMetadata): void {
    this.#members.set(worker.uid, worker);
    this.#note(worker.uid);
  }

  /** Takes a member out. */
  dismiss(uid: string): void {
    if (this.#members.delete(uid)) this.#note(uid);
  }

  /** Calls `listener` for each member now, and for each change from now on, until the returned function is called. */
  follow(listener: RosterListener): () => void {
    for (const [uid, worker] of this.#members) listener(uid, worker);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Takes over what another process says, unless this roster is at least as new. */
  apply({ version, isComplete, members, sizes, removed, maxPending, refusal }: RosterNews): void {
    if (version <= this.#version) return;
    const present = new Set(members.map(({ uid }) => uid));
    const gone = isComplete ? [...this.#members.keys()].filter((uid) => !present.has(uid)) : removed;
    this.maxPending = maxPending;
    this.refusal = refusal;
    for (const uid of gone) {
      this.#resize(uid, 0);
      if (this.#members.delete(uid)) this.#tell(uid, undefined);
    }
    for (const worker of members) {
      this.#resize(worker.uid, sizes.get(worker.uid) ?? 0);
      this.#members.set(worker.uid, worker);
      this.#tell(worker.uid, worker);
    }
    this.#version = version;
    // A process that knows an earlier version is told of every member: this copy does not know what changed in between.
    this.#changes.length = 0;
    this.#firstChange = version + 1;
    this.changed?.();
  }

  describe(since: number): Uint8Array | undefined {
    if (since === this.#version) return undefined;
    if (since + 1 < this.#firstChange) return this.#describeAll();
    // Many sessions know the version before a change, and all of them are told the same.
    if (this.#latest?.version !== this.#version || this.#latest.since !== since) {
      this.#latest = { since, version: this.#version, bytes: this.#describeChanges(since) };
    }
    return this.#latest.bytes;
  }

  #describeChanges(since: number): Uint8Array {
    const changed = new Set(this.#changes.slice(since + 1 - this.#firstChange));
    const members = [...changed].flatMap((uid) => this.#members.get(uid) ?? []);
    const removed = [...changed].filter((uid) => !this.#members.has(uid));
    return this.#write(false, members, removed);
  }

  #describeAll(): Uint8Array {
    if (this.#complete?.version !== this.#version) {
      this.#complete = { version: this.#version, bytes: this.#write(true, [...this.#members.values()], []) };
    }
    return this.#complete.bytes;
  }

  #write(isComplete: boolean, members: readonly WorkerMetadata[], removed: readonly string[]): Uint8Array {
    const { id, version, refusal } = this;
    const maxPending = Number.isFinite(this.maxPending) ? this.maxPending : undefined;
    const json = { id, version, isComplete, members: members.map(workerToJson), removed, maxPending, refusal };
    return Buffer.from(JSON.stringify(json), "utf8");
  }

  #resize(uid: string, size: number): void {
    this.#size += size - (this.#sizes.get(uid) ?? 0);
    if (size === 0) this.#sizes.delete(uid);
    else this.#sizes.set(uid, size);
  }

  #note(uid: string): void {
    this.#version++;
    this.#changes.push(uid);
    if (this.#changes.length >= 2 * REMEMBERED_CHANGES) {
      this.#firstChange += this.#changes.splice(0, REMEMBERED_CHANGES).length;
    }
    this.#tell(uid, this.#members.get(uid));
    this.changed?.();
  }

  #tell(uid: string, worker: WorkerMetadata | undefined): void {
    for (const listener of this.#listeners) listener(uid, worker);
  }
}

/** Finds the workers of a pool by its roster, in tasks that came from that pool. */
export class RosterDiscovery implements DiscoveryLike {
  readonly roster: Roster;

  constructor(roster: Roster) {
    this.roster = roster;
  }

  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    return subscribeToWorkers(
      (sink) =>
        this.roster.follow((uid, worker) => {
          if (worker === undefined) sink.drop(uid);
          else sink.change(worker);
        }),
      filter,
    );
  }
}

/** Reads what `Roster.describe` wrote. Throws `UnexpectedResponse` for anything else. */
export function readRosterNews(bytes: Uint8Array): RosterNews {
  if (bytes.length > MOST_NEWS_BYTES) {
    throw new UnexpectedResponse(
      `a list of workers has ${bytes.length} bytes, and at most ${MOST_NEWS_BYTES} are allowed`,
    );
  }
  const json = parse(Buffer.from(bytes).toString("utf8"));
  const { id, version, isComplete, members, removed, maxPending, refusal } = json;
  if (
    typeof id !== "string" ||
    typeof version !== "number" ||
    typeof isComplete !== "boolean" ||
    !Array.isArray(members) ||
    !Array.isArray(removed) ||
    !(maxPending === undefined || typeof maxPending === "number") ||
    !(refusal === undefined || typeof refusal === "string")
  ) {
    throw new UnexpectedResponse("a task came with a list of workers that this version does not understand");
  }
  const sizes = new Map<string, number>();
  const read = members.flatMap((member: unknown) => {
    const { worker } = workerFromJson(member);
    if (worker === undefined) return [];
    sizes.set(worker.uid, JSON.stringify(member).length);
    return [worker];
  });
  return {
    id,
    version,
    isComplete,
    members: read,
    sizes,
    removed: removed.filter((uid): uid is string => typeof uid === "string"),
    maxPending: maxPending ?? Number.POSITIVE_INFINITY,
    refusal,
  };
}

function parse(text: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null ? { ...json } : {};
  } catch {
    return {};
  }
}
