import { checkFunction } from "../checks/index.ts";
import type { DiscoveryLike, WorkerMetadata } from "../discovery/index.ts";
import { NoWorkersAvailable, TaskCancelled } from "../errors.ts";
import {
  argumentsOf,
  type CallOptions,
  dispatchThrough,
  extendCallContext,
  type RoutineSpec,
  requireFunctionRoutine,
} from "../routine/index.ts";
import { providerOf } from "../security/index.ts";
import { Timer } from "../time/index.ts";
import { RoutineCaller } from "./calls/index.ts";
import { enlistBalancer, Membership, Roster, RosterDiscovery } from "./members/index.ts";
import { checkProxyOptions, type WorkerProxyOptions } from "./proxy-options.ts";
import { closedError, ProxyParts } from "./proxy-parts.ts";
import { Scheduler } from "./scheduling/index.ts";

const NOBODY_FOUND = "start workers, or check that they announce themselves where this discovery looks";
const QUORUM_TIMEOUT_MS = 60_000;

const NONE_SHARED = Object.freeze({ values: 0, bytes: 0 });

/** The counts of calls at one worker. */
export interface WorkerStats {
  /** Calls that have not ended. */
  readonly inFlight: number;
  /** Calls that returned. */
  readonly done: number;
  /** Calls that threw or were lost. */
  readonly failed: number;
  /** Values of `share` that were sent, and their size, encoded. */
  readonly shared: { readonly values: number; readonly bytes: number };
}

/** The counts of the calls of a pool at one of its workers. */
export interface MemberStats extends WorkerStats {
  /** False while the worker does not respond although it has calls; it gets no more until it responds. */
  readonly responds: boolean;
}

/** The outcome of a broadcast at one worker. */
export type BroadcastResult<R> =
  | { readonly uid: string; readonly status: "fulfilled"; readonly value: R }
  | { readonly uid: string; readonly status: "rejected"; readonly reason: unknown };

/** The counts of the calls of a pool or proxy. */
export interface PoolStats extends WorkerStats {
  /** Calls that wait for room at a worker. */
  readonly queued: number;
  /** The counts of each worker that is a member now, by uid. */
  readonly workers: Readonly<Record<string, MemberStats>>;
}

/**
 * The caller's side of a pool: finds workers and dispatches to them, but starts and stops none. `idle`: not used yet.
 * `starting`: waits for its quorum. `open`: hands out calls. `closed`: takes no calls any more.
 */
export class WorkerProxy implements AsyncDisposable {
  readonly #options: WorkerProxyOptions;
  readonly #scheduler: Scheduler;
  readonly #membership: Membership;
  /** Uids of workers that are used regardless of filter and lease. */
  readonly #reserved = new Set<string>();
  /** Uids of workers that come back by themselves when they are lost. */
  readonly #returning = new Set<string>();
  /** Uids of workers that use TLS when this proxy has no credentials, or the reverse. */
  readonly #passedOver = new Set<string>();
  /** The members, as tasks that are called through this proxy know them. */
  readonly #roster: Roster;
  /** Whether the roster is a copy that this proxy does not change. */
  readonly #isFollower: boolean;
  readonly #unfollow: () => void;
  #isPassingOn = false;
  readonly #caller: RoutineCaller;
  readonly #parts: ProxyParts;
  #state: "idle" | "starting" | "open" | "closed" = "idle";
  #preparing: Promise<DiscoveryLike> | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #membershipChanged: (() => void) | undefined;

  /** Throws `InvalidArgument` for options that are wrong or do not go together. */
  constructor(options: WorkerProxyOptions);
  /** @internal `own`: how many workers the pool itself starts. */
  constructor(options: WorkerProxyOptions, own: number);
  constructor(options: WorkerProxyOptions, own = 0) {
    checkProxyOptions(options, own);
    this.#options = options;
    const credentials = options.credentials === undefined ? undefined : providerOf(options.credentials);
    this.#parts = new ProxyParts(options);
    this.#scheduler = new Scheduler({
      maxPending: options.maxPending ?? Number.POSITIVE_INFINITY,
      evict: (member, reason) => this.#membership.evict(member, reason),
      returns: (uid) => this.#returning.has(uid),
      absences: () => this.#membership.absences(),
    });
    this.#membership = new Membership(this.#scheduler, {
      filter: (worker) =>
        this.#isOfItsKind(worker) && (this.#reserved.has(worker.uid) || (options.filter?.(worker) ?? true)),
      credentials,
      limits: options.limits,
      reserved: this.#reserved,
      lease: options.lease ?? Number.POSITIVE_INFINITY,
      changed: (uid) => {
        this.#membershipChanged?.();
        this.#enlist(uid);
      },
    });
    // Inside a task, the roster of its pool decides who the members are.
    this.#roster = options.discovery instanceof RosterDiscovery ? options.discovery.roster : new Roster();
    this.#isFollower = options.discovery instanceof RosterDiscovery;
    this.#roster.maxPending = options.maxPending ?? Number.POSITIVE_INFINITY;
    this.#unfollow = this.#roster.follow(() => this.#passOn());
    this.#caller = new RoutineCaller(this.#scheduler, this.#roster, options.results);
  }

  /** The workers that are used, by uid: a live view. */
  get workers(): ReadonlyMap<string, WorkerMetadata> {
    return this.#scheduler.eligible.everyone;
  }

  /** @internal Begins to look for workers, and returns the discovery that it looks in. */
  prepare(): Promise<DiscoveryLike> {
    this.#preparing ??= this.#prepare();
    return this.#preparing;
  }

  /**
   * @internal Uses the worker of this uid regardless of filter and lease. `returns`: when lost, it comes back by
   * itself.
   */
  reserve(uid: string, returns: boolean): void {
    this.#reserved.add(uid);
    if (returns) this.#returning.add(uid);
  }

  /** @internal Uses a worker that the pool itself started, for as long as the pool says. */
  adopt(worker: WorkerMetadata): void {
    this.#membership.adopt(worker);
  }

  /** @internal A worker that the pool itself started has ended. */
  abandon(uid: string): void {
    this.#membership.abandon(uid);
  }

  /** @internal The worker of this uid is away and will be back: calls wait for it. */
  expect(uid: string): void {
    this.#scheduler.returning.expect(uid);
  }

  /** @internal The worker of this uid will not be back, because of `reason`. */
  giveUp(uid: string, reason: Error): void {
    this.#membership.lose(uid, reason);
    this.#returning.delete(uid);
    this.#scheduler.returning.giveUp(uid);
  }

  /** @internal Resolves as soon as every call made through this proxy has ended. */
  drained(): Promise<void> {
    return this.#scheduler.calls.empty();
  }

  /** Begins to look for workers and waits for the quorum. Happens by itself at the first call. */
  start(): Promise<void> {
    if (this.#state === "closed") return Promise.reject(closedError());
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Runs `fn`: routines called inside go through this proxy. Throws `InvalidArgument` unless `fn` is a function. */
  run<T>(fn: () => T): T {
    checkFunction(fn, "proxy.run()", "a function to run");
    return extendCallContext({ carrier: this }, fn);
  }

  /** Calls a routine through this proxy, wherever the call is made. */
  dispatch<A extends unknown[], T>(routine: (...args: A) => T, ...args: A): T {
    return dispatchThrough(this, routine, args);
  }

  /** @internal */
  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown> {
    this.#startForCall();
    return this.#caller.call(spec, args, options);
  }

  /** @internal */
  packer(...calls: Parameters<RoutineCaller["packer"]>): ReturnType<RoutineCaller["packer"]> {
    this.#startForCall();
    return this.#caller.packer(...calls);
  }

  /** @internal */
  stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown> {
    this.#startForCall();
    return this.#caller.stream(spec, args, options);
  }

  /**
   * Calls a routine once on every worker that has the tags it needs. Each worker's outcome is in the list, failures
   * included. Throws `InvalidArgument` unless `routine` is one, and rejects when the proxy is closed or does not find its
   * quorum.
   */
  async broadcast<A extends unknown[], R>(
    routine: (...args: A) => Promise<R>,
    ...args: A
  ): Promise<BroadcastResult<R>[]> {
    const { spec, options } = requireFunctionRoutine(routine, "broadcast");
    await this.start();
    const caller = this.#caller;
    const { needs = [] } = { ...spec.options, ...options };
    const members = [...this.#scheduler.members.values()];
    const fit = members.filter(({ metadata }) => needs.every((tag) => metadata.tags.has(tag)));
    return await Promise.all(
      fit.map(async (member): Promise<BroadcastResult<R>> => {
        const { uid } = member;
        try {
          return {
            uid,
            status: "fulfilled",
            value: (await caller.callOn(member, spec, argumentsOf(spec, args), options)) as R,
          };
        } catch (reason) {
          return { uid, status: "rejected", reason };
        }
      }),
    );
  }

  stats(): PoolStats {
    let { inFlight, done, failed, shared = NONE_SHARED } = this.#scheduler.departed;
    const workers: Record<string, MemberStats> = {};
    for (const member of this.#scheduler.members.values()) {
      const { link, tally } = member;
      const own = tally.shared ?? NONE_SHARED;
      workers[member.uid] = { ...tally, inFlight: link.inFlight, responds: link.responds, shared: { ...own } };
      shared = { values: shared.values + own.values, bytes: shared.bytes + own.bytes };
      inFlight += link.inFlight;
      done += tally.done;
      failed += tally.failed;
    }
    return { inFlight, queued: this.#scheduler.queued, done, failed, shared: { ...shared }, workers };
  }

  /**
   * Closes the proxy. Waiting calls end with `PoolClosed`; those at a worker are cancelled. Rejects at the end if
   * disposing of the discovery or the balancer failed, with that error.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Hands out no more calls: those that wait, or that a worker gives back, end with `PoolClosed`. Calls at a worker go on.
   * @internal
   */
  close(): void {
    this.#scheduler.close(closedError());
  }

  async #stop(): Promise<void> {
    this.#state = "closed";
    this.#parts.close();
    this.#unfollow();
    this.close();
    this.#scheduler.cancelAll((name) => new TaskCancelled(`${name} was cancelled: its pool was stopped`));
    this.#membershipChanged?.();
    this.#membership.close(false);
    await this.#parts.dispose();
  }

  async #prepare(): Promise<DiscoveryLike> {
    const { discovery, balancer } = await this.#parts.find();
    if (balancer !== undefined) {
      this.#scheduler.balancer = balancer;
      enlistBalancer(this.#roster, balancer);
    }
    if (this.#isFollower) this.#membership.followRoster(this.#roster);
    else this.#membership.subscribe(discovery);
    return discovery;
  }

  async #start(): Promise<void> {
    this.#state = "starting";
    try {
      await this.prepare();
      await this.#quorum();
    } catch (error) {
      // The next call tries again: workers may have come by then.
      if (!this.#isClosed()) this.#state = "idle";
      this.#starting = undefined;
      throw error;
    }
    if (this.#isClosed()) throw closedError();
    this.#state = "open";
    if (this.#options.lazy === false) this.#scheduler.connect();
    this.#scheduler.open();
  }

  /** Calls made before the start wait in the scheduler. */
  #startForCall(): void {
    if (this.#state === "open" || this.#state === "closed") return;
    this.start().catch((error: Error) => this.#scheduler.failAll(error));
  }

  /** Tells running tasks that a member came, changed or went. */
  #enlist(uid: string): void {
    if (this.#isFollower) return;
    const worker = this.#membership.describe(uid);
    if (worker === undefined) this.#roster.dismiss(uid);
    else this.#roster.admit(worker);
  }

  /** Changes of one turn of the event loop are passed on together. */
  #passOn(): void {
    if (this.#isPassingOn) return;
    this.#isPassingOn = true;
    setImmediate(() => {
      this.#isPassingOn = false;
      for (const { link } of this.#scheduler.members.values()) {
        for (const session of link.sessions) session.refresh(this.#roster);
      }
    }).unref();
  }

  /** A proxy with credentials uses only workers with TLS, one without credentials only workers without TLS. */
  #isOfItsKind({ uid, secure }: WorkerMetadata): boolean {
    const fits = secure === (this.#options.credentials !== undefined);
    if (fits) this.#passedOver.delete(uid);
    else this.#passedOver.add(uid);
    return fits;
  }

  #describePassedOver(): string {
    const count = this.#passedOver.size;
    if (count === 0) return "";
    const [kind, why] =
      this.#options.credentials === undefined
        ? ["with", "no credentials are given here"]
        : ["without", "credentials are given here"];
    return ` (${count} ${kind} TLS ${count === 1 ? "was" : "were"} not used, because ${why})`;
  }

  /** Waits until there are enough workers. Rejects with `NoWorkersAvailable` when that takes too long. */
  async #quorum(): Promise<void> {
    const { quorum = 1, quorumTimeout = QUORUM_TIMEOUT_MS } = this.#options;
    if (this.#membership.size >= quorum) return;
    await new Promise<void>((resolve, reject) => {
      const timer = new Timer(quorumTimeout, () => {
        this.#membershipChanged = undefined;
        const found = this.#membership.size;
        const absences = this.#membership.absences();
        const advice = absences.length > 0 ? "workers that cannot be used were found" : NOBODY_FOUND;
        const details = absences.map(({ message }) => `\n  - ${message}`).join("");
        reject(
          new NoWorkersAvailable(
            `${found} of the ${quorum} workers waited for were found within the quorumTimeout of ${quorumTimeout} ms: ` +
              `${this.#parts.problem ?? advice}${this.#describePassedOver()}${details}`,
            absences,
          ),
        );
      });
      this.#membershipChanged = () => {
        if (this.#membership.size < quorum && this.#state !== "closed") return;
        this.#membershipChanged = undefined;
        timer.clear();
        resolve();
      };
    });
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }
}
