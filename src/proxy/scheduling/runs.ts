import type { LoadBalancerContextView, LoadBalancerLike } from "../../balancing/index.ts";
import type { Member, MemberSession } from "../members/index.ts";
import { reportAttempts } from "./attempt-report.ts";
import type { CallQueue } from "./call-queue.ts";
import { shareEvenly } from "./share-evenly.ts";

/** Calls in a row that make a caller one that waits for each answer. */
const LONG_STREAK = 64;
/** After so many calls of such a caller another worker has its turn. */
const SERIAL_TURN = 1024;

/** Hands out calls in runs to the least loaded workers, so that each run is one message. */
export class Runs {
  readonly #queue: CallQueue;
  readonly #members: ReadonlyMap<string, Member>;
  #turn = 0;
  /** Calls in a row that were made when nothing else was under way. */
  #streak = 0;
  /** Who got the last call. */
  #lastSerial: { readonly session: MemberSession; readonly member: Member } | undefined;

  constructor(queue: CallQueue, members: ReadonlyMap<string, Member>) {
    this.#queue = queue;
    this.#members = members;
  }

  /** Whether no worker has anything to do. */
  get isIdle(): boolean {
    for (const member of this.#members.values()) if (member.link.inFlight > 0) return false;
    return true;
  }

  /** Hands out as many calls as there is room for. Calls whose arguments take long to send leave room: there may be several rounds. */
  distribute(balancer: LoadBalancerLike, context: LoadBalancerContextView): void {
    const queue = this.#queue;
    const settled = balancer.settled === undefined ? undefined : { balancer, context };
    let before = -1;
    while (queue.size > 0 && queue.size !== before) {
      before = queue.size;
      if (!this.#serial(settled)) this.#round(settled);
    }
  }

  /**
   * A caller that waits for each answer before it makes the next call stays with one worker after a while, whose threads
   * are awake: that halves the time of such calls. Returns whether the only waiting call was handed out so.
   */
  #serial(settled: Settled | undefined): boolean {
    const last = this.#lastSerial;
    const serial = this.#queue.size === 1 && this.isIdle;
    this.#streak = serial ? this.#streak + 1 : 0;
    if (this.#streak < LONG_STREAK || this.#streak % SERIAL_TURN === 0 || last === undefined) return false;
    if (!last.session.isOpen || last.session.room <= 0) return false;
    if (this.#members.get(last.member.uid) !== last.member) return false;
    this.#send(last.session, last.member, 1, settled);
    return true;
  }

  #round(settled: Settled | undefined): void {
    const sessions: MemberSession[] = [];
    const owners: Member[] = [];
    for (const member of this.#members.values()) {
      if (!member.isUsual) continue;
      for (const session of member.link.sessions) {
        if (session.room <= 0) continue;
        sessions.push(session);
        owners.push(member);
      }
    }
    if (sessions.length === 0) return;
    const first = this.#turn++ % sessions.length;
    const order = sessions.map((_, i) => (first + i) % sessions.length);
    const takers = order.map((i) => {
      const session = sessions[i] as MemberSession;
      return { load: session.inFlight, room: session.room };
    });
    const shares = shareEvenly(takers, this.#queue.size);
    for (let i = 0; i < order.length; i++) {
      const share = shares[i] as number;
      const at = order[i] as number;
      if (share > 0) this.#send(sessions[at] as MemberSession, owners[at] as Member, share, settled);
    }
  }

  #send(session: MemberSession, member: Member, count: number, settled: Settled | undefined): void {
    const calls = this.#queue.take(count);
    if (settled !== undefined) for (const call of calls) reportAttempts(call, settled.balancer, settled.context);
    if (this.#lastSerial === undefined || this.#lastSerial.session !== session) this.#lastSerial = { session, member };
    session.send(calls, member);
  }
}

/** A balancer that wants to know what becomes of calls. */
interface Settled {
  readonly balancer: LoadBalancerLike;
  readonly context: LoadBalancerContextView;
}
