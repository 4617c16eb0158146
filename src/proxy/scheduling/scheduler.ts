import {
  type DispatchingLoadBalancerLike,
  isDispatchingLoadBalancer,
  LeastLoadedLoadBalancer,
  LoadBalancerContext,
  type LoadBalancerLike,
} from "../../balancing/index.ts";
import { type Call, type CallOwner, RemoteFailure } from "../../call/index.ts";
import type { LinkListener, WorkerLink } from "../../connection/index.ts";
import { PermissionDenied, PoolSaturated, RpcError, TransientRpcError } from "../../errors.ts";
import { StatusCode } from "../../grpc/index.ts";
import {
  type CallCounts,
  Connector,
  callsOf,
  DepartedWorkers,
  KeepAlive,
  type Member,
  ReturningWorkers,
} from "../members/index.ts";
import { CallQueue } from "./call-queue.ts";
import { Delegation } from "./delegation.ts";
import { endCall, failCall, lostError, nobodyLeft, noWorkers } from "./fail-call.ts";
import { noteRefusal, RefusedCalls } from "./refused-calls.ts";
import { RunDistribution } from "./run-distribution.ts";
import { TaskDispatch } from "./task-dispatch.ts";
import { WorkerLanes } from "./worker-lanes.ts";

/** How a scheduler is made. */
export interface SchedulerOptions {
  /** Most calls that may wait for room. */
  readonly maxPending: number;
  /** Takes a worker out of the pool for good. */
  readonly evict: (member: Member, error: Error) => void;
  /** Whether the worker of this uid comes back by itself when it is lost. */
  readonly returns?: (uid: string) => boolean;
}

/**
 * Hands calls to workers. Calls wait here, not at a worker, until one has room: whoever is free first gets the next.
 * Those made in one turn of the event loop are handed out together.
 */
export class Scheduler implements CallOwner, LinkListener {
  readonly members = new Map<string, Member>();
  /** The members as the balancer sees them. */
  readonly context = new LoadBalancerContext((uid) => this.#load(uid));
  /** Decides who gets a call. */
  balancer: LoadBalancerLike | DispatchingLoadBalancerLike = new LeastLoadedLoadBalancer();
  /** Workers that are no longer members. */
  readonly #departed = new DepartedWorkers();
  /** Workers that calls wait for when there is no other. */
  readonly returning: ReturningWorkers;
  readonly #options: SchedulerOptions;
  /** `collecting`: calls wait until workers have been found. `open`: they are handed out. `closed`: they are not any more. */
  #state: "collecting" | "open" | "closed" = "collecting";
  #closedFor = new Error();
  readonly #queue = new CallQueue();
  /** Calls that one worker or more refused, of a balancer that is not asked: they are handed out one by one. */
  readonly #refused: RefusedCalls;
  readonly #connector = new Connector(this.members, (member, error) => this.#unreachable(member, error));
  readonly #lanes = new WorkerLanes((calls, member) => this.#returned(calls, member));
  readonly #runs = new RunDistribution(this.#queue, this.members);
  readonly #delegation = new Delegation({
    queue: this.#queue,
    members: this.members,
    lanes: this.#lanes,
    connector: this.#connector,
    context: this.context,
    again: () => this.#scheduleSoon(),
  });
  /** What a balancer that dispatches itself has not sent yet. */
  readonly #held = new Set<TaskDispatch>();
  #scheduled = false;
  readonly #keepAlive = new KeepAlive();
  readonly #distributeNow = (): void => {
    this.#scheduled = false;
    this.distribute();
  };

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { members } = this;
    this.returning = new ReturningWorkers(options.returns ?? (() => false), () => this.#missed());
    this.#refused = new RefusedCalls({ members, returning: this.returning, connect: () => this.connect() });
  }

  /** Calls that wait for room. */
  get queued(): number {
    return this.#queue.size + this.#refused.size + this.#lanes.size + this.#delegation.size + this.#held.size;
  }

  add(member: Member): void {
    if (this.returning.arrived(member.uid)) this.#refused.arrived(member.uid);
    this.members.set(member.uid, member);
    this.context.add(member.metadata);
    this.progressed();
  }

  remove(member: Member): void {
    this.members.delete(member.uid);
    this.context.remove(member.uid);
    this.#departed.add(member);
    this.#lanes.empty(member);
    if (this.#state === "open") this.#failIfUnreachable();
  }

  /** What became of the calls of workers that are no longer members. */
  get departed(): CallCounts {
    return this.#departed.counts;
  }

  /** Takes a call. Throws `PoolSaturated` when too many wait already. */
  submit(call: Call): void {
    const { queued } = this;
    if (queued >= this.#options.maxPending && !this.#hasRoom()) {
      throw new PoolSaturated(
        `${queued} calls wait for a worker and maxPending is ${this.#options.maxPending}: ` +
          "await some before making more, or use pool.map, which bounds what is in flight",
      );
    }
    this.#queue.push(call);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Alone, a call goes out at once; with others under way it waits for those of its turn to share a message.
    if (this.#runs.isIdle) process.nextTick(this.#distributeNow);
    else setImmediate(this.#distributeNow);
  }

  /** Whether every worker reads files of this process. */
  get sharesFiles(): boolean {
    for (const member of this.members.values()) if (!member.link.sharesFiles) return false;
    return this.members.size > 0;
  }

  /** Takes back a call that has not been handed to a worker. */
  withdraw(call: Call): void {
    if (call.place !== undefined) call.place.withdraw(call);
    else if (!this.#refused.withdraw(call)) this.#queue.withdrawn();
    endCall(call);
    this.#stayAlive();
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
    this.#connector.connect();
  }

  /** Hands out as many waiting calls as there is room for. */
  distribute(): void {
    this.#handOut();
    this.#stayAlive();
  }

  #handOut(): void {
    if (this.#state === "collecting") return;
    if (this.#state === "closed") return this.#failWaiting(() => this.#closedFor);
    if (this.#refused.size > 0) this.#refused.distribute();
    if (this.#lanes.size > 0) {
      this.connect();
      this.#lanes.distribute();
    }
    if (this.#queue.isEmpty) return;
    const { balancer } = this;
    if (isDispatchingLoadBalancer(balancer)) {
      this.#dispatch(balancer);
      return;
    }
    if (this.members.size === 0) {
      if (!this.returning.any) this.#failWaiting(nobodyLeft);
      return;
    }
    this.connect();
    if (balancer.levels === true) {
      this.#queue.compact();
      this.#runs.distribute(balancer, this.context);
    } else this.#delegation.distribute(balancer);
    this.#queue.trim();
    if (!this.#queue.isEmpty) this.#failIfUnreachable();
  }

  /** Fails every waiting call. */
  failAll(error: Error): void {
    this.#failWaiting(() => error);
    for (const { call } of Array.from(this.#held)) {
      call.place?.withdraw(call);
      failCall(call, error);
    }
    this.#stayAlive();
  }

  /** A call that waits keeps the program alive, as one at a worker does: there may be no connection to do so. */
  #stayAlive(): void {
    this.#keepAlive.isNeeded = this.queued > 0 && !this.#isAnyWaitedFor();
  }

  /** Whether somebody waits for a call at a worker. */
  #isAnyWaitedFor(): boolean {
    for (const member of this.members.values()) if (member.link.isWaitedFor) return true;
    return false;
  }

  /** Cancels every call that is at a worker, for the reason that `reason` gives for the name of its routine. */
  cancelAll(reason: (name: string) => Error): void {
    this.returning.clear();
    for (const call of this.#callsAtWorkers()) {
      const error = reason(call.route.name);
      call.session?.cancel(call, error);
      call.reject(new RemoteFailure(error));
    }
  }

  /** Whether a call waits for room or is at a worker, be that a member or not any more. */
  get isBusy(): boolean {
    return this.queued > 0 || this.#callsAtWorkers().length > 0;
  }

  #callsAtWorkers(): Call[] {
    return [...[...this.members.values()].flatMap(callsOf), ...this.#departed.calls()];
  }

  progressed(): void {
    this.#delegation.progressed();
    if (!this.#queue.isEmpty || this.#refused.size > 0 || this.#lanes.size > 0) this.distribute();
  }

  responding(): void {
    // Its windows are shut or open again, which is all there is to know.
  }

  interrupted(link: WorkerLink, error: Error): void {
    for (const member of this.members.values()) {
      if (member.link !== link) continue;
      member.failure = error;
      this.returning.suspect(member.uid);
    }
    // Whoever waits for the worker needs it connected again.
    if (this.queued > 0) this.#scheduleSoon();
  }

  rejected(call: Call, error: Error): void {
    const { worker, attempts } = call;
    const member = this.members.get(worker);
    if (!(attempts instanceof TaskDispatch)) {
      attempts?.ended("rejected");
      noteRefusal(call, worker, error);
    }
    // What one caller may not run says nothing about other calls.
    const isTaskOnly = error instanceof TransientRpcError || error instanceof PermissionDenied;
    if (member !== undefined && !isTaskOnly) this.#options.evict(member, error);
    if (attempts instanceof TaskDispatch) attempts.refused(error);
    else this.#tryAgain(call);
  }

  returned(call: Call, error: Error): void {
    const { attempts } = call;
    if (attempts instanceof TaskDispatch) return attempts.refused(error);
    this.#handOutAnew(call);
  }

  remade(call: Call): void {
    const { attempts } = call;
    if (attempts instanceof TaskDispatch) return attempts.remade(call);
    this.#handOutAnew(call);
  }

  #handOutAnew(call: Call): void {
    call.attempts?.ended("rejected");
    this.#queue.pushFront(call);
    this.#scheduleSoon();
  }

  lost(call: Call, error: Error): void {
    const { attempts } = call;
    const again = call.extras?.idempotent === true && call.stream === undefined && call.lostBefore === undefined;
    call.state = "lost";
    if (call.tally !== undefined) call.tally.failed++;
    if (again) {
      call.lostBefore = error;
      call.state = "waiting";
    }
    if (attempts instanceof TaskDispatch) attempts.lost(error, again);
    else attempts?.ended("lost");
    if (!again) call.reject(new RemoteFailure(lostError(call, error)));
    else if (!(attempts instanceof TaskDispatch)) {
      // When there is nobody else, it may still be that only its thread ended.
      if (this.#hasOthers(call)) noteRefusal(call, call.worker, error);
      this.#tryAgain(call);
    }
  }

  /** Whether there is another worker than the one that has the call, and that has not refused it. */
  #hasOthers({ worker, refusals }: Call): boolean {
    for (const uid of this.members.keys()) if (uid !== worker && refusals?.has(uid) !== true) return true;
    return false;
  }

  #load(uid: string): number {
    const member = this.members.get(uid);
    return member === undefined ? 0 : member.link.inFlight + this.#lanes.waitingFor(member);
  }

  /** Hands every call to a balancer that dispatches itself. */
  #dispatch(balancer: DispatchingLoadBalancerLike): void {
    const { members, context } = this;
    if (members.size > 0) this.connect();
    const parts = { balancer, context, members, lanes: this.#lanes, connector: this.#connector, held: this.#held };
    const dispatches = this.#queue.takeAll().map((call) => new TaskDispatch(call, parts));
    for (const dispatch of dispatches) dispatch.start();
  }

  /** Takes calls that waited for a worker which cannot have them. */
  #returned(calls: readonly Call[], member: Member): void {
    const { failure, uid } = member;
    const gone = `worker ${uid} left the pool before it took the task`;
    const error = failure instanceof RpcError ? failure : new TransientRpcError(gone, StatusCode.UNAVAILABLE);
    for (const call of calls) {
      if (call.attempts instanceof TaskDispatch) call.attempts.refused(error);
      else this.#queue.pushFront(call);
    }
    if (!this.#queue.isEmpty) this.#scheduleSoon();
  }

  #tryAgain(call: Call): void {
    if ("levels" in this.balancer && this.balancer.levels === true) this.#refused.add(call);
    else this.#queue.pushFront(call);
    this.#scheduleSoon();
  }

  #scheduleSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.#distributeNow);
  }

  #hasRoom(): boolean {
    for (const member of this.members.values()) if (member.roomiest() !== undefined) return true;
    return false;
  }

  #unreachable(member: Member, error: Error): void {
    this.returning.suspect(member.uid);
    this.#refused.unreachable(member.uid, error);
    if (error instanceof TransientRpcError) this.#lanes.empty(member);
    else this.#options.evict(member, error);
    if (this.#state === "closed") return;
    if (this.#refused.size > 0) this.#refused.distribute();
    this.#failIfUnreachable();
  }

  /** A worker that calls may have waited for will not be back. */
  #missed(): void {
    if (this.#state !== "open") return;
    this.#failIfUnreachable();
    this.progressed();
  }

  /** When no worker is reachable and none is being connected to, waiting is in vain. */
  #failIfUnreachable(): void {
    if (this.queued === 0 || this.returning.any) return;
    const failures = this.#connector.failures();
    if (failures === undefined) return;
    const error = failures.length === 0 ? nobodyLeft : () => noWorkers("no worker could be reached", failures);
    this.#failWaiting(error);
  }

  /** Fails the waiting calls, but for those that a balancer holds: it may know better. */
  #failWaiting(error: (call: Call) => Error): void {
    const waiting = [
      ...this.#refused.takeAll(),
      ...this.#queue.takeAll(),
      ...this.#lanes.takeAll(),
      ...this.#delegation.takeAll(),
    ];
    for (const call of waiting) if (call.state === "waiting") failCall(call, error(call));
  }
}
