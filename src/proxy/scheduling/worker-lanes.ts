import type { Call, WaitingPlace } from "../../call/index.ts";
import type { Member } from "../members/index.ts";
import { assign } from "./hand-over.ts";

/** Takes back calls that waited for a worker which cannot have them now. */
export type GiveBack = (calls: readonly Call[], member: Member) => void;

/** Calls that each wait for one worker, which is being connected to or has no room. */
export class WorkerLanes {
  readonly #lanes = new Map<Member, Lane>();
  readonly #giveBack: GiveBack;
  #size = 0;

  /** `giveBack` takes the calls of a worker that leaves or cannot be reached, and those that do not wait for room. */
  constructor(giveBack: GiveBack) {
    this.#giveBack = giveBack;
  }

  /** Calls that wait. */
  get size(): number {
    return this.#size;
  }

  /** Calls that wait for a worker. */
  waitingFor(member: Member): number {
    return this.#lanes.get(member)?.size ?? 0;
  }

  /** Lets a call wait for a worker. `patient`: also when that is connected and has no room. */
  add(call: Call, member: Member, patient: boolean): void {
    let lane = this.#lanes.get(member);
    if (lane === undefined) {
      lane = new Lane(() => this.#size--);
      this.#lanes.set(member, lane);
    }
    lane.add(call, patient);
    this.#size++;
    call.place = lane;
  }

  /** Hands out what there is room for at the workers waited for. */
  distribute(): void {
    for (const member of Array.from(this.#lanes.keys())) this.distributeTo(member);
  }

  /** Hands to one worker as many of its calls as it has room for. */
  distributeTo(member: Member): void {
    const lane = this.#lanes.get(member);
    if (lane === undefined || member.link.state === "connecting") return;
    if (member.link.state !== "ready") return this.empty(member);
    for (let session = member.roomiest(); session !== undefined && lane.size > 0; session = member.roomiest()) {
      const share = Math.ceil(lane.size / member.link.sessions.length);
      const calls = lane.take(Math.min(session.window.room, share));
      for (const call of calls) assign(call, member);
      session.send(calls, 0, calls.length, true);
    }
    this.#release(member, lane, lane.takeImpatient());
  }

  /** Gives back every call that waits for a worker. */
  empty(member: Member): void {
    const lane = this.#lanes.get(member);
    if (lane !== undefined) this.#release(member, lane, lane.take(lane.size));
  }

  /** Takes out every call. */
  takeAll(): Call[] {
    const calls = [...this.#lanes.values()].flatMap((lane) => lane.take(lane.size));
    this.#lanes.clear();
    return calls;
  }

  #release(member: Member, lane: Lane, calls: readonly Call[]): void {
    if (lane.size === 0) this.#lanes.delete(member);
    if (calls.length > 0) this.#giveBack(calls, member);
  }
}

/** The calls that wait for one worker, in order. */
class Lane implements WaitingPlace {
  /** Whether each of them waits for room. */
  readonly #calls = new Map<Call, boolean>();
  readonly #left: () => void;
  #impatient = 0;

  constructor(left: () => void) {
    this.#left = left;
  }

  get size(): number {
    return this.#calls.size;
  }

  add(call: Call, patient: boolean): void {
    this.#calls.set(call, patient);
    if (!patient) this.#impatient++;
  }

  take(count: number): Call[] {
    const taken: Call[] = [];
    for (const call of this.#calls.keys()) {
      if (taken.length === count) break;
      taken.push(call);
    }
    for (const call of taken) this.withdraw(call);
    return taken;
  }

  takeImpatient(): Call[] {
    if (this.#impatient === 0) return [];
    const taken = [...this.#calls].filter(([, patient]) => !patient).map(([call]) => call);
    for (const call of taken) this.withdraw(call);
    return taken;
  }

  withdraw(call: Call): void {
    const patient = this.#calls.get(call);
    if (patient === undefined) return;
    this.#calls.delete(call);
    if (!patient) this.#impatient--;
    call.place = undefined;
    this.#left();
  }
}
