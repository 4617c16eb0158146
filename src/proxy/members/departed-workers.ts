import type { Call } from "../../call/index.ts";
import type { Member } from "./member.ts";

/** What became of calls at workers. */
export interface CallCounts {
  readonly inFlight: number;
  readonly done: number;
  readonly failed: number;
}

/** Workers that are no longer members, of which some may still have calls. */
export class DepartedWorkers {
  readonly #leaving = new Set<Member>();
  /** Of those that have no calls any more. */
  readonly #gone = { done: 0, failed: 0 };

  add(member: Member): void {
    this.#leaving.add(member);
    for (const left of this.#leaving) if (callsOf(left).length === 0) this.#forget(left);
  }

  /** The calls that they still have. */
  calls(): Call[] {
    return [...this.#leaving].flatMap(callsOf);
  }

  get counts(): CallCounts {
    let { done, failed } = this.#gone;
    for (const { tally } of this.#leaving) {
      done += tally.done;
      failed += tally.failed;
    }
    return { inFlight: this.calls().length, done, failed };
  }

  #forget(member: Member): void {
    this.#leaving.delete(member);
    this.#gone.done += member.tally.done;
    this.#gone.failed += member.tally.failed;
  }
}

/** The calls that a worker has. */
export function callsOf({ link, tally }: Member): Call[] {
  return link.sessions.flatMap((session) => session.callsOf(tally));
}
