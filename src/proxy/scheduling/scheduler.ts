import {
  type DispatchingLoadBalancerLike,
  isDispatchingLoadBalancer,
  LeastLoadedLoadBalancer,
  type LoadBalancerLike,
} from "../../balancing/index.ts";
import { type Call, CallGroup, type CallOwner, type Tally } from "../../call/index.ts";
import type { LinkListener } from "../../connection/index.ts";
import { TransientRpcError } from "../../errors.ts";
import { Connector, DepartedWorkers, type Member, type MemberLink, ReturningWorkers } from "../members/index.ts";
import { reportAttempts } from "./attempt-report.ts";
import { CallQueue } from "./call-queue.ts";
import { DelegatedPlacement } from "./delegated-placement.ts";
import { DispatchedPlacement } from "./dispatched-placement.ts";
import { EligibleWorkers } from "./eligible-workers.ts";
import { PendingLimit } from "./pending-limit.ts";
import type { Placement } from "./placement.ts";
import { Placements } from "./placements.ts";
import { Prospects } from "./prospects.ts";
import { Runs } from "./runs.ts";

/** Any long time, in milliseconds: the timer only keeps the program alive. */
const ALIVE_MS = 1_000_000_000;

/** How a scheduler is made. */
export interface SchedulerOptions {
  /** Most calls that may wait for room. */
  readonly maxPending: number;
  /** Takes a worker out of the pool. It is admitted again after a while. */
  readonly evict: (member: Member, error: Error) => void;
  /** Whether the worker of this uid comes back by itself when it is lost. */
  readonly returns?: (uid: string) => boolean;
  /** Why workers that were found are not members. */
  readonly absences?: () => readonly Error[];
}

/**
 * Hands calls to workers. Calls wait here, not at a worker, until one has room: the first worker with room gets the
 * next call. Calls made in one turn of the event loop are handed out together.
 *
 * A call waits in the queue first. From there it goes to a worker in a run with others, if the balancer levels, and
 * otherwise into its own placement. A call that a worker gave back always gets a placement.
 */
export class Scheduler implements CallOwner, LinkListener {
  readonly members = new Map<string, Member>();
  /** The members as the balancer sees them. */
  readonly eligible = new EligibleWorkers((uid) => this.#load(uid));
  /** Decides who gets a call. */
  balancer: LoadBalancerLike | DispatchingLoadBalancerLike = new LeastLoadedLoadBalancer();
  /** The calls that have not ended, wherever they are. */
  readonly calls = new CallGroup();
  /** Workers that calls wait for when there is no other. */
  readonly returning: ReturningWorkers;
  readonly #departed = new DepartedWorkers();
  readonly #options: SchedulerOptions;
  /**
   * `collecting`: calls wait until workers have been found. `open`: they are handed out. `closed`: no call is handed
   * out any more.
   */
  #state: "collecting" | "open" | "closed" = "collecting";
  #closedFor = new Error();
  readonly #queue = new CallQueue();
  readonly #runs = new Runs(this.#queue, this.calls);
  readonly #connector = new Connector(this.members, (member, error) => this.#unreachable(member, error));
  readonly #prospects: Prospects;
  readonly #placements: Placements;
  /** Undefined where any number of calls may wait. */
  readonly #pending: PendingLimit | undefined;
  #scheduled = false;
  /** `again`: there may be more room since handing out began. */
  #handingOut: "no" | "yes" | "again" = "no";
  #keepAlive: NodeJS.Timeout | undefined;
  readonly #distributeNow = (): void => {
    this.#scheduled = false;
    this.distribute();
  };

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { members, eligible } = this;
    const { maxPending } = options;
    this.#pending = Number.isFinite(maxPending) ? new PendingLimit(maxPending, members) : undefined;
    this.returning = new ReturningWorkers(options.returns ?? (() => false), () => this.#missed());
    this.#prospects = new Prospects(members, eligible, this.returning, options.absences ?? (() => []));
    this.#placements = new Placements({
      members,
      eligible,
      connector: this.#connector,
      prospects: this.#prospects,
      evict: options.evict,
      again: () => this.#scheduleSoon(),
      withdrawn: () => this.#stayAlive(),
    });
  }

  /** Calls that wait for room. */
  get queued(): number {
    return this.#queue.size + this.#placements.size;
  }

  /** The counts of workers that are not members any more. */
  get departed(): Readonly<Tally> {
    return this.#departed.tally;
  }

  /** Whether calls may be handed out in packs: the balancer neither decides about single calls nor follows them. */
  get takesPacks(): boolean {
    const { balancer } = this;
    return !isDispatchingLoadBalancer(balancer) && balancer.levels === true && balancer.settled === undefined;
  }

  /** Whether every worker reads files of this process. */
  get sharesFiles(): boolean {
    for (const member of this.members.values()) if (!member.link.sharesFiles) return false;
    return this.members.size > 0;
  }

  add(member: Member): void {
    this.#arrived(member.uid);
    this.members.set(member.uid, member);
    this.eligible.add(member.metadata);
    this.#runs.add(member);
    this.#connector.watch(member);
    this.progressed();
  }

  /** The metadata of a member has changed. It may be a new process that can be reached again. */
  update(member: Member): void {
    if (!this.#arrived(member.uid)) return;
    member.retryAt = 0;
    this.progressed();
  }

  remove(member: Member): void {
    this.members.delete(member.uid);
    this.eligible.remove(member.uid);
    this.#runs.remove(member);
    this.#connector.forget(member);
    this.#departed.add(member);
    this.#placements.giveBack(member);
    this.#failIfHopeless();
  }

  /**
   * Takes a call. Throws `PoolSaturated` when too many wait already, and `NoWorkersAvailable` when it needs tags that
   * no worker has. `isBounded`: the code that makes the call bounds the number of its calls, so any number may wait.
   */
  submit(call: Call, isBounded = false): void {
    const unfit = this.#state === "open" ? this.#prospects.ofNeeds(call) : undefined;
    if (unfit !== undefined) throw unfit;
    const pending = this.#pending;
    if (pending !== undefined) {
      if (isBounded) pending.exempt(call);
      else pending.check(this.queued, this.#runs.isFull(this.#placements.progress), this.#state === "collecting");
    }
    call.waitAt(this);
    if (call.extras?.needs === undefined && call.route.language === undefined) this.#queue.push(call);
    else this.#keepApart(call);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // With nothing else under way a call goes out at once (1.07x as many calls one at a time). Otherwise it shares a
    // message with the other calls of this turn.
    if (this.#runs.isIdle) process.nextTick(this.#distributeNow);
    else setImmediate(this.#distributeNow);
  }

  /** A call that only some workers may have is not handed out in runs. */
  #keepApart(call: Call): void {
    const { balancer } = this;
    if (isDispatchingLoadBalancer(balancer)) return this.#queue.push(call);
    reportAttempts(call, balancer, this.eligible.for(call));
    this.#placements.keep(this.#place(call));
  }

  /** Begins to hand out calls. */
  open(): void {
    this.#state = "open";
    this.distribute();
  }

  /** Hands out no more calls: those that wait, and those that workers give back, fail with `error`. */
  close(error: Error): void {
    this.#state = "closed";
    this.#closedFor = error;
    this.failAll(error);
  }

  /** Connects to every worker that is not connected. */
  connect(): void {
    this.#connector.connect(this.returning.any);
  }

  /** Hands out as many waiting calls as there is room for. `link`: where there is more room than before, if that is known. */
  distribute(link?: MemberLink): void {
    // Asking a balancer may lead to this call.
    if (this.#handingOut !== "no") {
      this.#handingOut = "again";
      return;
    }
    this.#handingOut = "yes";
    try {
      this.#handOut(link);
    } finally {
      if (this.#isToHandOutAgain()) this.#scheduleSoon();
      this.#handingOut = "no";
    }
    this.#stayAlive();
  }

  /** Fails every waiting call. */
  failAll(error: Error): void {
    this.#fail(() => error, true);
    this.#stayAlive();
  }

  /** Cancels every call at a worker. `reason` makes the reason from the name of the routine. */
  cancelAll(reason: (name: string) => Error): void {
    this.returning.clear();
    for (const member of [...this.members.values(), ...this.#departed.members]) {
      for (const call of member.calls()) call.cancel(reason(call.route.name));
    }
  }

  progressed(link?: MemberLink): void {
    this.#placements.progress++;
    if (this.#queue.size > 0 || this.#placements.waitForWorkers) this.distribute(link);
  }

  interrupted(link: MemberLink, error: Error): void {
    for (const member of this.members.values()) {
      if (member.link !== link) continue;
      member.failure = error;
      this.#connector.watch(member);
      this.returning.suspect(member.uid);
    }
    // Calls that wait for the worker need it connected again.
    if (this.queued > 0) this.#scheduleSoon();
  }

  withdraw(call: Call): void {
    this.#queue.withdraw(call);
    this.#stayAlive();
  }

  rejected(call: Call, error: Error): void {
    this.#place(call).rejected(call, error);
  }

  returned(call: Call, error: Error): void {
    this.#place(call).returned(call, error);
  }

  remade(call: Call): void {
    this.#place(call).remade(call);
  }

  lost(call: Call, error: Error): void {
    this.#place(call).lost(call, error);
  }

  /** A worker is back. Returns whether calls waited for it. */
  #arrived(uid: string): boolean {
    const isBack = this.returning.arrived(uid);
    if (isBack) this.#placements.arrived(uid);
    return isBack;
  }

  #isToHandOutAgain(): boolean {
    return this.#handingOut === "again";
  }

  #handOut(link: MemberLink | undefined): void {
    if (this.#state === "collecting") return;
    if (this.#state === "closed") return this.#fail(() => this.#closedFor, false);
    const { balancer } = this;
    if (this.#queue.size === 0 && !this.#placements.waitForWorkers) return;
    this.connect();
    if (isDispatchingLoadBalancer(balancer)) {
      this.#placements.distribute();
      const placements = this.#queue.take(this.#queue.size).map((call) => this.#place(call));
      for (const placement of placements) placement.ask();
      return;
    }
    if (this.#failIfHopeless()) return;
    if (this.#placements.waitForWorkers) this.#placements.distribute();
    if (balancer.levels === true) {
      this.#runs.distribute(balancer, this.eligible.all, this.#placements.progress, link);
      return;
    }
    while (this.#queue.size > 0 && this.#placements.isWorthAsking) this.#delegate(balancer);
  }

  /** Asks the balancer about the first call of the queue. */
  #delegate(balancer: LoadBalancerLike): void {
    const call = this.#queue.shift();
    if (call === undefined) return;
    const placement = this.#place(call);
    reportAttempts(call, balancer, this.eligible.for(call));
    this.#placements.keep(placement);
    placement.ask();
  }

  /** Has the balancer decide about this call alone. */
  #place(call: Call): Placement {
    const { balancer } = this;
    const placement = isDispatchingLoadBalancer(balancer)
      ? new DispatchedPlacement(call, this.#placements, balancer)
      : new DelegatedPlacement(call, this.#placements, balancer);
    if (call.state === "waiting") call.waitAt(placement);
    return placement;
  }

  /** A call that waits keeps the program alive, as one at a worker does: there may be no connection that does. */
  #stayAlive(): void {
    const isNeeded = this.queued > 0 && !this.#isAnyWaitedFor();
    if (isNeeded) this.#keepAlive ??= setInterval(() => undefined, ALIVE_MS);
    else if (this.#keepAlive !== undefined) {
      clearInterval(this.#keepAlive);
      this.#keepAlive = undefined;
    }
  }

  /** Whether somebody waits for a call at a worker. */
  #isAnyWaitedFor(): boolean {
    for (const member of this.members.values()) if (member.link.isWaitedFor) return true;
    return false;
  }

  #load(uid: string): number {
    const member = this.members.get(uid);
    return member === undefined ? 0 : member.link.inFlight + this.#placements.waitingFor(member);
  }

  #scheduleSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.#distributeNow);
  }

  #unreachable(member: Member, error: Error): void {
    this.returning.suspect(member.uid);
    if (error instanceof TransientRpcError) this.#placements.giveBack(member);
    else this.#options.evict(member, error);
    if (!this.#failIfHopeless() && this.#placements.waitForWorkers) this.#scheduleSoon();
  }

  /** A worker that calls may have waited for will not be back. */
  #missed(): void {
    if (!this.#failIfHopeless()) this.progressed();
  }

  /** Fails the calls that wait when no worker will take any. Returns whether it did. */
  #failIfHopeless(): boolean {
    if (this.#state !== "open" || this.queued === 0) return false;
    const unfit = this.#queue.size === 0 ? undefined : this.#prospects.ofUsual();
    if (unfit !== undefined) for (const call of this.#queue.take(this.#queue.size)) call.fail(unfit(call));
    const hopeless = this.#prospects.ofAll();
    if (hopeless !== undefined) this.#fail(hopeless, false);
    return hopeless !== undefined;
  }

  /**
   * Fails the calls that wait. `held`: also the calls that a balancer holds. The balancer may know a worker for them.
   */
  #fail(error: (call: Call) => Error, held: boolean): void {
    const waiting = [...this.#queue.take(this.#queue.size), ...this.#placements.calls(held)];
    for (const call of waiting) call.fail(error(call));
  }
}
