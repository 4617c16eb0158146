import type { LoadBalancerContextView, LoadBalancerLike } from "../../balancing/index.ts";
import type { Call } from "../../call/index.ts";
import type { Session } from "../../connection/index.ts";
import type { Member } from "../members/index.ts";
import { reportAttempts } from "./attempt-report.ts";
import type { CallQueue } from "./call-queue.ts";
import { assign } from "./hand-over.ts";
import { level } from "./level.ts";

/** Calls in a row that make a caller one that waits for each answer. */
const LONG_STREAK = 64;
/** After so many calls of such a caller another worker has its turn. */
const SERIAL_TURN = 1024;

/** Hands out calls in runs to the least loaded workers, so that each run is one message. */
export class RunDistribution {
  readonly #queue: CallQueue;
  readonly #members: ReadonlyMap<string, Member>;
  #turn = 0;
  /** Calls in a row that were made when nothing else was under way. */
  #streak = 0;
  /** Prepares calls for a balancer that wants to know what becomes of them. */
  #report: ((call: Call) => void) | undefined;
  /** Who got the last call. */
  #lastSerial: { readonly session: Session; readonly member: Member } | undefined;

  constructor(queue: CallQueue, members: ReadonlyMap<string, Member>) {
    this.#queue = queue;
    this.#members = members;
  }

  /** Whether no worker has anything to do. */
  get isIdle(): boolean {
    for (const member of this.#members.values()) if (member.link.inFlight > 0) return false;
    return true;
  }

  /** Hands out what there is room for. Calls whose arguments take long to send leave room: there may be several rounds. */
  distribute(balancer: LoadBalancerLike, context: LoadBalancerContextView): void {
    const queue = this.#queue;
    this.#report = balancer.settled === undefined ? undefined : (call) => reportAttempts(call, balancer, context);
    let before = -1;
    while (!queue.isEmpty && queue.head !== before) {
      before = queue.head;
      this.#round();
    }
  }

  /**
   * A caller that waits for each answer before it makes the next call stays with one worker after a while, whose threads
   * are awake: that halves the time of such calls. Returns whether the only waiting call was handed out so.
   */
  #serial(): boolean {
    const last = this.#lastSerial;
    const serial = this.#queue.calls.length - this.#queue.head === 1 && this.isIdle;
    this.#streak = serial ? this.#streak + 1 : 0;
    if (this.#streak < LONG_STREAK || this.#streak % SERIAL_TURN === 0 || last === undefined) return false;
    if (!last.session.isOpen || last.session.window.room <= 0) return false;
    if (this.#members.get(last.member.uid) !== last.member) return false;
    this.#send(last.session, last.member, 1);
    return true;
  }

  #round(): void {
    if (this.#serial()) return;
    const sessions: Session[] = [];
    const owners: Member[] = [];
    for (const member of this.#members.values()) {
      for (const session of member.link.sessions) {
        if (session.window.room <= 0) continue;
        sessions.push(session);
        owners.push(member);
      }
    }
    if (sessions.length === 0) return;
    const first = this.#turn++ % sessions.length;
    const order = sessions.map((_, i) => (first + i) % sessions.length);
    const vessels = order.map((i) => {
      const session = sessions[i] as Session;
      return { load: session.inFlight, room: session.window.room };
    });
    const shares = level(vessels, this.#queue.calls.length - this.#queue.head);
    for (let i = 0; i < order.length; i++) {
      const share = shares[i] as number;
      if (share > 0) this.#send(sessions[order[i] as number] as Session, owners[order[i] as number] as Member, share);
    }
  }

  #send(session: Session, member: Member, count: number): void {
    const { calls, head } = this.#queue;
    const to = head + count;
    const report = this.#report;
    for (let i = head; i < to; i++) {
      const call = calls[i] as Call;
      report?.(call);
      assign(call, member);
    }
    this.#queue.head = to;
    if (this.#lastSerial === undefined || this.#lastSerial.session !== session) this.#lastSerial = { session, member };
    session.send(calls, head, to);
    calls.fill(undefined, head, to);
  }
}
