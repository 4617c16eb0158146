import { messageOf } from "../../checks/index.ts";
import type {
  DiscoveryEvent,
  DiscoveryLike,
  DiscoverySubscriberLike,
  WorkerFilter,
  WorkerMetadata,
} from "../../discovery/index.ts";
import { VersionMismatch } from "../../errors.ts";
import { StatusCode } from "../../grpc/index.ts";
import type { WorkerCredentialsProvider } from "../../security/index.ts";
import { emitWorkerEvent } from "../../telemetry/index.ts";
import { type CallerLimits, versionProblem } from "../../wire/index.ts";
import type { Scheduler } from "../scheduling/index.ts";
import { Evictions } from "./evictions.ts";
import { Member } from "./member.ts";
import type { Roster } from "./roster.ts";

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;

/** How a membership decides which workers to admit. */
export interface MembershipOptions {
  readonly filter: WorkerFilter;
  /** Uids of workers that are admitted whatever the lease says: those that the pool started itself. */
  readonly reserved: ReadonlySet<string>;
  /** Most workers admitted beyond the reserved ones. */
  readonly lease: number;
  /** With credentials it admits only workers with TLS, without them only workers without TLS. */
  readonly credentials: WorkerCredentialsProvider | undefined;
  /** How much memory of this process a worker may use. */
  readonly limits: CallerLimits | undefined;
  /** Called after each change, with the uid of the worker. */
  readonly changed: (uid: string) => void;
}

/** Keeps the workers of a pool as a discovery reports them. */
export class Membership {
  readonly #scheduler: Scheduler;
  readonly #options: MembershipOptions;
  /** Workers that wait for a place. */
  readonly #waiting = new Map<string, WorkerMetadata>();
  #subscription: AsyncIterator<DiscoveryEvent> | undefined;
  #unfollow: (() => void) | undefined;
  #state: "idle" | "subscribed" | "closed" = "idle";
  #retry: NodeJS.Timeout | undefined;
  readonly #evictions = new Evictions((worker) => this.#admit(worker));
  /** Versions of workers that were left out because their protocol is incompatible, by uid. */
  readonly #incompatible = new Map<string, string>();
  /** Why workers that the pool itself started are lost for good, by uid. */
  readonly #lost = new Map<string, Error>();
  /** Uids of workers that the pool itself started and follows. */
  readonly #own = new Set<string>();
  /** Uids of members that count towards the lease. */
  readonly #leased = new Set<string>();
  /** The metadata of the pool's own workers, as a discovery reports it. */
  readonly #announced = new Map<string, WorkerMetadata>();

  constructor(scheduler: Scheduler, options: MembershipOptions) {
    this.#scheduler = scheduler;
    this.#options = options;
  }

  get size(): number {
    return this.#scheduler.members.size;
  }

  /** Follows a discovery until `close`. Throws what its `subscribe` throws: the discovery cannot be used then. */
  subscribe(discovery: DiscoveryLike): void {
    const subscriber = discovery.subscribe(this.#options.filter);
    this.#state = "subscribed";
    void this.#follow(discovery, FIRST_RETRY_MS, subscriber);
  }

  /**
   * Follows the roster of the pool that a task came from, until `close`. Every worker that is in it becomes a member at
   * once.
   */
  followRoster(roster: Roster): void {
    this.#state = "subscribed";
    this.#unfollow = roster.follow((uid, worker) => {
      if (worker === undefined) this.remove(uid, true);
      else if (this.#options.filter(worker)) this.#admit(worker);
    });
  }

  /** Takes a worker out because of its answer. It is admitted again after a while. */
  evict(member: Member, reason: Error): void {
    this.#evictions.add(member.metadata, reason);
    this.#remove(member.uid, false);
    emitWorkerEvent("worker-evicted", member.metadata, reason);
  }

  /** Why workers are not members: their answers, their version, or how they ended. */
  absences(): Error[] {
    const versions = Array.from(
      this.#incompatible,
      ([uid, version]) =>
        new VersionMismatch(`worker ${uid} was left out: ${versionProblem(version)}`, StatusCode.FAILED_PRECONDITION),
    );
    return [...this.#evictions.reasons(), ...versions, ...this.#lost.values()];
  }

  /** A member as other processes should know it: with its announced address, if there is one. */
  describe(uid: string): WorkerMetadata | undefined {
    const member = this.#scheduler.members.get(uid);
    return member === undefined ? undefined : (this.#announced.get(uid) ?? member.metadata);
  }

  /** Takes in a worker that the pool itself started. Later events of a discovery do not change it. */
  adopt(worker: WorkerMetadata): void {
    this.#own.add(worker.uid);
    if (this.#state !== "closed" && this.#options.filter(worker)) this.#admit(worker);
  }

  /** Takes out a worker that the pool itself started and that has ended. */
  abandon(uid: string): void {
    this.#announced.delete(uid);
    this.remove(uid, true);
  }

  /** A worker that the pool itself started is lost for good. */
  lose(uid: string, reason: Error): void {
    this.#lost.set(uid, reason);
  }

  /** Takes a worker out. `gone`: it does not exist any more, so its connection is closed as soon as it is idle. */
  remove(uid: string, gone: boolean): void {
    this.#evictions.forget(uid);
    const member = this.#remove(uid, gone);
    if (member !== undefined) emitWorkerEvent("worker-dropped", member.metadata);
  }

  #remove(uid: string, gone: boolean): Member | undefined {
    const member = this.#scheduler.members.get(uid);
    if (member === undefined) return undefined;
    this.#scheduler.remove(member);
    this.#leased.delete(uid);
    member.release(gone);
    this.#options.changed(uid);
    this.#fill();
    return member;
  }

  /** Stops following and gives all connections back. */
  close(gone: boolean): void {
    this.#state = "closed";
    clearTimeout(this.#retry);
    this.#unfollow?.();
    this.#evictions.close();
    for (const uid of Array.from(this.#scheduler.members.keys())) this.remove(uid, gone);
    // Some subscriptions answer only when their next event comes. Nobody needs to wait for that.
    this.#subscription?.return?.().catch(() => undefined);
  }

  async #follow(discovery: DiscoveryLike, retryIn: number, subscriber?: DiscoverySubscriberLike): Promise<void> {
    let wait = retryIn;
    try {
      const iterator = (subscriber ?? discovery.subscribe(this.#options.filter))[Symbol.asyncIterator]();
      this.#subscription = iterator;
      for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
        if (this.#state === "closed") return;
        wait = FIRST_RETRY_MS;
        this.#apply(step.value);
      }
    } catch (error) {
      if (this.#state === "closed") return;
      const reason = messageOf(error);
      process.emitWarning(
        `discovery failed (${reason}); the ${this.size} workers known so far stay in use, and the discovery is tried again in ${wait} ms`,
        "WoolWarning",
      );
      this.#retry = setTimeout(() => void this.#follow(discovery, Math.min(wait * 2, LAST_RETRY_MS)), wait);
      this.#retry.unref();
    }
  }

  #apply(event: DiscoveryEvent): void {
    const { worker } = event;
    if (this.#own.has(worker.uid)) {
      // Other processes may have to use another address than this process, which started the worker.
      if (event.type !== "worker-dropped") this.#announced.set(worker.uid, worker);
      if (this.#scheduler.members.has(worker.uid)) this.#options.changed(worker.uid);
      return;
    }
    this.#waiting.delete(worker.uid);
    this.#incompatible.delete(worker.uid);
    // The filter is applied here too: a discovery may ignore the filter that it was given.
    if (event.type !== "worker-dropped" && this.#options.filter(worker) && this.#isCompatible(worker))
      this.#admit(worker);
    else this.remove(worker.uid, event.type === "worker-dropped");
  }

  #admit(worker: WorkerMetadata): void {
    if (this.#evictions.has(worker.uid)) return this.#evictions.update(worker);
    const scheduler = this.#scheduler;
    const known = scheduler.members.get(worker.uid);
    if (known !== undefined && known.metadata.address === worker.address) {
      known.metadata = worker;
      scheduler.eligible.update(worker);
      scheduler.update(known);
      this.#options.changed(worker.uid);
      emitWorkerEvent("worker-updated", worker);
      return;
    }
    if (known !== undefined) this.remove(worker.uid, true);
    if (!this.#hasRoomFor(worker)) {
      this.#waiting.set(worker.uid, worker);
      return;
    }
    if (!this.#options.reserved.has(worker.uid)) this.#leased.add(worker.uid);
    scheduler.add(Member.join(worker, scheduler, this.#options.credentials, this.#options.limits));
    this.#options.changed(worker.uid);
    emitWorkerEvent("worker-added", worker);
  }

  #isCompatible({ uid, version }: WorkerMetadata): boolean {
    if (versionProblem(version) === undefined) return true;
    this.#incompatible.set(uid, version);
    return false;
  }

  #hasRoomFor({ uid }: WorkerMetadata): boolean {
    const { reserved, lease } = this.#options;
    return reserved.has(uid) || this.#leased.size < lease;
  }

  /** Gives the place of a worker that has left to one that waits for it. */
  #fill(): void {
    if (this.#state === "closed") return;
    for (const worker of this.#waiting.values()) {
      if (!this.#hasRoomFor(worker)) return;
      this.#waiting.delete(worker.uid);
      this.#admit(worker);
    }
  }
}
