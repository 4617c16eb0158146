import type { LoadBalancerLike } from "../../balancing/index.ts";
import type { Call } from "../../call/index.ts";
import { describeValue, isError } from "../../checks/index.ts";
import { InvalidArgument, TaskTimeout } from "../../errors.ts";
import { Timer } from "../../time/index.ts";
import type { Member } from "../members/index.ts";
import { isEligible } from "./eligible-workers.ts";
import { Offers } from "./offers.ts";
import { Placement } from "./placement.ts";
import type { Placements } from "./placements.ts";

/** How long a balancer may think about one call, in milliseconds. */
const THINKING_LIMIT_MS = 60_000;

/**
 * Tries the workers that a balancer offers for a call. If none of them has room, the call waits and others may pass it.
 * A call that the balancer is still thinking about does not delay others.
 */
export class DelegatedPlacement extends Placement {
  readonly #balancer: LoadBalancerLike;
  #offers = new Offers(0);
  /** Whether the call waits for a worker that has no room. */
  #isPatient = false;
  /** Ends a decision that takes too long. */
  #limit: Timer | undefined;

  constructor(call: Call, placements: Placements, balancer: LoadBalancerLike) {
    super(call, placements);
    this.#balancer = balancer;
  }

  override ask(): void {
    const { call } = this;
    const balancer = this.#balancer;
    const context = this.placements.options.eligible.for(call);
    let placed = false;
    try {
      const { info } = this;
      this.#isPatient = balancer.waits?.(info) === true;
      this.#offers = new Offers(context.workers.size);
      const offered: unknown = balancer.delegate(info, context);
      // The balancer itself may have closed the pool.
      if (call.state !== "waiting") return;
      if (isAsyncIterable(offered)) {
        void this.#think(offered);
        return;
      }
      for (const uid of requireIterable(offered, balancer)) {
        placed = this.#consider(uid);
        if (placed || this.#offers.areTooMany) break;
      }
      if (!placed) this.#conclude();
    } catch (error) {
      // Once the call has its place, errors of the balancer do not matter.
      if (!placed && call.state === "waiting") call.fail(balancerError(error, balancer));
    }
  }

  override withdraw(): void {
    this.#limit?.clear();
    super.withdraw();
  }

  override missed(): void {
    this.placements.keep(this);
  }

  override rejected(call: Call, error: Error): void {
    const uid = call.recipient?.uid ?? "";
    call.waitAgain(this, "rejected");
    noteRefusal(call, uid, error);
    this.#askSoon();
    this.placements.refusedBy(uid, error);
  }

  override returned(call: Call): void {
    call.waitAgain(this, "rejected");
    this.#askSoon();
  }

  override remade(call: Call): void {
    this.returned(call);
  }

  override lost(call: Call, error: Error): void {
    const { prospects } = this.placements.options;
    // If there is no other worker, try the same one again: maybe only its thread ended.
    if (call.canRunAgain && prospects.hasOther(call)) noteRefusal(call, call.recipient?.uid ?? "", error);
    call.lose(this, error);
    if (call.state === "waiting") this.#askSoon();
  }

  #askSoon(): void {
    this.placements.keep(this);
    this.placements.options.again();
  }

  async #think(offered: AsyncIterable<unknown>): Promise<void> {
    const { call, placements } = this;
    const since = placements.progress;
    const limit = new Timer(THINKING_LIMIT_MS, () => call.fail(this.#thoughtTooLong()));
    let placed = false;
    this.#limit = limit;
    placements.think(this);
    try {
      for await (const uid of offered) {
        placed = this.#consider(uid);
        if (placed) limit.clear();
        if (placed || this.#offers.areTooMany) break;
      }
      if (!placed) this.#conclude();
      if (!placed && placements.progress !== since) placements.options.again();
    } catch (error) {
      if (!placed && call.state === "waiting") call.fail(balancerError(error, this.#balancer));
    } finally {
      limit.clear();
    }
  }

  #thoughtTooLong(): TaskTimeout {
    return new TaskTimeout(
      `the load balancer, ${describeValue(this.#balancer)}, thought about ${this.call.route.name} for more than ` +
        `${THINKING_LIMIT_MS} ms: its delegate() must yield worker uids sooner, or end`,
    );
  }

  /** Gives the call to a worker that was offered, if possible. Returns whether the call has its place now. */
  #consider(uid: unknown): boolean {
    const { call } = this;
    const offers = this.#offers;
    if (typeof uid !== "string") {
      throw new InvalidArgument(
        `delegate() offered ${describeValue(uid)}: it must yield worker uids, which are strings`,
      );
    }
    // The call may have ended while the balancer was thinking.
    if (call.state !== "waiting") return true;
    if (!offers.isNew(uid)) return false;
    const member = this.placements.options.members.get(uid);
    const refusal = call.refusals?.get(uid);
    if (member === undefined || member.link.state === "closed" || !isEligible(member.metadata, call)) {
      offers.unknown.push(uid);
    } else if (refusal !== undefined) offers.errors.push(refusal);
    else return this.#try(member);
    return false;
  }

  #try(member: Member): boolean {
    const { call, placements } = this;
    const { connector } = placements.options;
    const { link } = member;
    const offers = this.#offers;
    if (link.state === "idle" && connector.isDue(member)) connector.connectTo(member);
    if (link.state === "ready") {
      const session = placements.waitingFor(member) === 0 ? member.roomiest() : undefined;
      if (session !== undefined) {
        placements.release(this);
        session.send([call], member, true);
        return true;
      }
      if (this.#isPatient) {
        placements.queueFor(this, member, true);
        return true;
      }
      offers.full = true;
      return false;
    }
    // The balancer's choice of a worker that is still connecting counts, unless connecting failed before.
    if (link.state === "connecting" && member.failure === undefined) {
      placements.queueFor(this, member, this.#isPatient);
      return true;
    }
    if (link.state === "connecting") offers.reconnecting ??= member;
    if (member.failure !== undefined) offers.errors.push(member.failure);
    return false;
  }

  /** Decides what to do with the call when the balancer offers no other worker. */
  #conclude(): void {
    const { call, placements } = this;
    if (call.state !== "waiting") return;
    const { reconnecting, full } = this.#offers;
    const hopeless = placements.options.prospects.ofOne(call, this.#offers, this.#balancer);
    if (hopeless !== undefined) call.fail(hopeless);
    else if (reconnecting !== undefined && !full) placements.queueFor(this, reconnecting, this.#isPatient);
    else placements.keep(this);
  }
}

/** Remembers that a worker did not take a call, and why. */
function noteRefusal(call: Call, uid: string, error: Error): void {
  call.refusals ??= new Map();
  call.refusals.set(uid, error);
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

/** The error that a call rejects with when its balancer threw. */
function balancerError(error: unknown, balancer: LoadBalancerLike): Error {
  if (isError(error)) return error;
  return new InvalidArgument(`the load balancer, ${describeValue(balancer)}, threw ${describeValue(error)}`, {
    cause: error,
  });
}
