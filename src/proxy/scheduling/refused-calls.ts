import type { Call } from "../../call/index.ts";
import type { Member, ReturningWorkers } from "../members/index.ts";
import { failCall, noWorkers } from "./fail-call.ts";
import { handOver } from "./hand-over.ts";

/** What refused calls need of their scheduler. */
export interface RefusedCallsOptions {
  readonly members: ReadonlyMap<string, Member>;
  readonly returning: Pick<ReturningWorkers, "any">;
  /** Connects to every worker that is not connected. */
  readonly connect: () => void;
}

/** Calls that one worker or more refused: each goes to a worker that has not refused it yet, and fails when there is none. */
export class RefusedCalls {
  readonly #options: RefusedCallsOptions;
  readonly #calls: Call[] = [];

  constructor(options: RefusedCallsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#calls.length;
  }

  add(call: Call): void {
    this.#calls.push(call);
  }

  /** Takes out a call; false if it is not here. */
  withdraw(call: Call): boolean {
    const index = this.#calls.indexOf(call);
    if (index >= 0) this.#calls.splice(index, 1);
    return index >= 0;
  }

  /** Takes out every call. */
  takeAll(): Call[] {
    return this.#calls.splice(0);
  }

  /** A worker that is back is as good as new. */
  arrived(uid: string): void {
    for (const call of this.#calls) call.refusals?.delete(uid);
  }

  /** A worker cannot be reached: it can have none of the calls. */
  unreachable(uid: string, error: Error): void {
    for (const call of this.#calls) noteRefusal(call, uid, error);
  }

  /** Hands out the calls that there is room for, one by one. */
  distribute(): void {
    const now = performance.now();
    const { members, returning, connect } = this.#options;
    for (const call of this.takeAll()) {
      if (call.state !== "waiting") continue;
      const untried = [...members.values()].filter((member) => mayTake(call, member, now));
      const member = untried.find((candidate) => candidate.roomiest() !== undefined);
      const session = member?.roomiest();
      if (member !== undefined && session !== undefined) handOver(call, member, session);
      else if (untried.length === 0 && !returning.any)
        failCall(call, noWorkers("every worker refused it", [...(call.refusals?.values() ?? [])]));
      else {
        this.#calls.push(call);
        connect();
      }
    }
  }
}

/** Remembers that a worker did not take a call, and why. */
export function noteRefusal(call: Call, uid: string, error: Error): void {
  call.refusals ??= new Map();
  call.refusals.set(uid, error);
}

/** A worker that refused the call may not have it again; one that could not be reached just now has refused it, too. */
function mayTake(call: Call, member: Member, now: number): boolean {
  if (call.refusals?.has(member.uid) === true) return false;
  if (member.link.state !== "idle" || member.failure === undefined || member.retryAt <= now) return true;
  noteRefusal(call, member.uid, member.failure);
  return false;
}
