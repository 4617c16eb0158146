import type { LoadBalancerContextView, LoadBalancerLike } from "../../balancing/index.ts";
import type { Call, WaitingPlace } from "../../call/index.ts";
import { describeValue } from "../../checks/index.ts";
import { InvalidArgument, TaskTimeout } from "../../errors.ts";
import type { Connector, Member } from "../members/index.ts";
import { reportAttempts } from "./attempt-report.ts";
import type { CallQueue } from "./call-queue.ts";
import { failCall, noWorkers } from "./fail-call.ts";
import { handOver } from "./hand-over.ts";
import { Offers } from "./offers.ts";
import { taskInfo } from "./task-info.ts";
import type { WorkerLanes } from "./worker-lanes.ts";

/** How long a balancer may think about one call, in milliseconds. */
const THINKING_LIMIT_MS = 60_000;

/** What a delegation works with. */
export interface DelegationParts {
  readonly queue: CallQueue;
  readonly members: ReadonlyMap<string, Member>;
  readonly lanes: WorkerLanes;
  readonly connector: Connector;
  readonly context: LoadBalancerContextView;
  /** Called when calls are in the queue that should be asked about again. */
  readonly again: () => void;
}

/**
 * Asks a balancer about each call. One whose workers have no room waits, and others may pass it; one that the balancer
 * is still thinking about holds up no other.
 */
export class Delegation implements WaitingPlace {
  readonly #parts: DelegationParts;
  /** What the balancer is thinking about, and when that has taken too long. */
  readonly #thinking = new Map<Call, NodeJS.Timeout>();
  /** Counts the times at which there may have been more room than before. */
  #progress = 0;
  /** `asking`: the balancer is being asked. `stale`: and there may be more room since it was. */
  #state: "idle" | "asking" | "stale" = "idle";

  constructor(parts: DelegationParts) {
    this.#parts = parts;
  }

  /** Calls that the balancer is thinking about. */
  get size(): number {
    return this.#thinking.size;
  }

  /** There may be more room than before. */
  progressed(): void {
    this.#progress++;
  }

  withdraw(call: Call): void {
    clearTimeout(this.#thinking.get(call));
    this.#thinking.delete(call);
    call.place = undefined;
  }

  /** Takes out every call that the balancer is thinking about. */
  takeAll(): Call[] {
    const calls = [...this.#thinking.keys()];
    for (const call of calls) this.withdraw(call);
    return calls;
  }

  /** Asks about the calls of the queue, in order, while some worker has room. */
  distribute(balancer: LoadBalancerLike): void {
    if (this.#state !== "idle") {
      this.#state = "stale";
      return;
    }
    if (!this.#isWorthAsking()) return;
    this.#state = "asking";
    try {
      this.#askAll(balancer);
    } finally {
      if (this.#isStale()) this.#parts.again();
      this.#state = "idle";
    }
  }

  #isStale(): boolean {
    return this.#state === "stale";
  }

  #askAll(balancer: LoadBalancerLike): void {
    const { queue } = this.#parts;
    queue.compact();
    const { calls } = queue;
    const kept: Call[] = [];
    const first = queue.head;
    let next = first;
    while (next < calls.length) {
      const call = calls[next++] as Call;
      const placed = call.state !== "waiting" || this.#ask(call, balancer);
      // The balancer itself may have closed the pool.
      if (queue.calls !== calls) return;
      if (placed) continue;
      kept.push(call);
      if (!this.#isWorthAsking()) break;
    }
    queue.head = next - kept.length;
    calls.fill(undefined, first, queue.head);
    for (let i = 0; i < kept.length; i++) calls[queue.head + i] = kept[i] as Call;
    queue.compact();
  }

  /** Whether some worker could take a call. */
  #isWorthAsking(): boolean {
    for (const member of this.#parts.members.values()) {
      if (member.link.state !== "ready" || member.roomiest() !== undefined) return true;
    }
    return false;
  }

  /** Asks about one call. Returns whether the call is no longer one of the queue. */
  #ask(call: Call, balancer: LoadBalancerLike): boolean {
    const { context } = this.#parts;
    reportAttempts(call, balancer, context);
    const task = taskInfo(call);
    let placed = false;
    try {
      const patient = balancer.waits?.(task) === true;
      const asked = { call, balancer, patient, offers: new Offers(context.workers.size) };
      const offered: unknown = balancer.delegate(task, context);
      if (isAsyncIterable(offered)) {
        void this.#think(asked, offered);
        return true;
      }
      for (const uid of requireIterable(offered, balancer)) {
        placed = this.#consider(asked, uid);
        if (placed || asked.offers.areTooMany) break;
      }
      return placed || this.#conclude(asked);
    } catch (error) {
      // Once the call has its place, what the balancer does when it is not asked on changes nothing.
      if (!placed && call.state === "waiting") failCall(call, balancerError(error, balancer));
      return true;
    }
  }

  async #think(asked: Asked, offered: AsyncIterable<unknown>): Promise<void> {
    const { call, balancer, offers } = asked;
    const since = this.#progress;
    call.place = this;
    this.#thinking.set(
      call,
      setTimeout(() => this.#thoughtTooLong(asked), THINKING_LIMIT_MS),
    );
    try {
      for await (const uid of offered) {
        if (!this.#thinking.has(call)) return;
        if (this.#consider(asked, uid)) {
          this.#forget(call);
          return;
        }
        if (offers.areTooMany) break;
      }
    } catch (error) {
      if (!this.#thinking.has(call)) return;
      this.withdraw(call);
      failCall(call, balancerError(error, balancer));
      return;
    }
    if (!this.#thinking.has(call)) return;
    this.withdraw(call);
    if (this.#conclude(asked)) return;
    this.#parts.queue.push(call);
    if (this.#progress !== since) this.#parts.again();
  }

  /** The call has another place now. */
  #forget(call: Call): void {
    clearTimeout(this.#thinking.get(call));
    this.#thinking.delete(call);
  }

  #thoughtTooLong({ call, balancer }: Asked): void {
    this.withdraw(call);
    failCall(
      call,
      new TaskTimeout(
        `the load balancer, ${describeValue(balancer)}, thought about ${call.route.name} for more than ` +
          `${THINKING_LIMIT_MS} ms: its delegate() must yield worker uids sooner, or end`,
      ),
    );
  }

  /** Gives the call to a worker that was offered, if that can be. Returns whether the call has its place now. */
  #consider(asked: Asked, uid: unknown): boolean {
    const { call, offers } = asked;
    if (typeof uid !== "string") {
      throw new InvalidArgument(`delegate() offered ${describeValue(uid)}: it must yield the uids of workers`);
    }
    if (!offers.isNew(uid)) return false;
    const member = this.#parts.members.get(uid);
    const refusal = call.refusals?.get(uid);
    if (member === undefined || member.link.state === "closed") offers.unknown.push(uid);
    else if (refusal !== undefined) offers.errors.push(refusal);
    else return this.#tryMember(asked, member);
    return false;
  }

  #tryMember(asked: Asked, member: Member): boolean {
    const { call, patient, offers } = asked;
    const { lanes, connector } = this.#parts;
    // It may have been withdrawn while the balancer thought.
    if (call.state !== "waiting") return true;
    if (member.link.state === "idle" && connector.isDue(member)) connector.connectTo(member);
    if (member.link.state === "ready") {
      const session = lanes.waitingFor(member) === 0 ? member.roomiest() : undefined;
      if (session !== undefined) {
        handOver(call, member, session);
        return true;
      }
      if (patient) {
        lanes.add(call, member, true);
        return true;
      }
      offers.full = true;
      return false;
    }
    // A worker that is being connected to is the balancer's choice all the same, unless that failed before.
    if (member.link.state === "connecting" && member.failure === undefined) {
      lanes.add(call, member, patient);
      return true;
    }
    if (member.link.state === "connecting") offers.reconnecting ??= member;
    if (member.failure !== undefined) offers.errors.push(member.failure);
    return false;
  }

  /** What to do with a call when the balancer offers nobody else. Returns whether the call has its place now. */
  #conclude(asked: Asked): boolean {
    const { call, balancer, patient, offers } = asked;
    if (call.state !== "waiting") return true;
    if (offers.full) return false;
    if (offers.reconnecting !== undefined) this.#parts.lanes.add(call, offers.reconnecting, patient);
    else failCall(call, noWorkers(offers.explain(balancer), offers.errors));
    return true;
  }
}

interface Asked {
  readonly call: Call;
  readonly balancer: LoadBalancerLike;
  /** Whether the call waits for a worker that has no room. */
  readonly patient: boolean;
  readonly offers: Offers;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function requireIterable(value: unknown, balancer: LoadBalancerLike): Iterable<unknown> {
  if (typeof value === "object" && value !== null && Symbol.iterator in value) return value as Iterable<unknown>;
  throw new InvalidArgument(
    `delegate() of the load balancer, ${describeValue(balancer)}, returned ${describeValue(value)}: ` +
      "it must return an iterable of worker uids, such as an array, or be a generator",
  );
}

/** What a call rejects with when its balancer threw. */
function balancerError(error: unknown, balancer: LoadBalancerLike): Error {
  if (error instanceof Error) return error;
  return new InvalidArgument(`the load balancer, ${describeValue(balancer)}, threw ${describeValue(error)}`, {
    cause: error,
  });
}
