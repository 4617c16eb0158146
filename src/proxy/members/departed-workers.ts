import type { Tally } from "../../call/index.ts";
import type { Member } from "./member.ts";

/** Workers that are not members any more. Some of them may still have calls. */
export class DepartedWorkers {
  readonly #leaving = new Set<Member>();
  /** The counts of workers that have no calls any more. */
  readonly #gone: Omit<Tally, "inFlight"> = { done: 0, failed: 0 };

  add(member: Member): void {
    this.#leaving.add(member);
    for (const left of this.#leaving) if (left.tally.inFlight === 0) this.#forget(left);
  }

  /** Workers that may still have calls. */
  get members(): Iterable<Member> {
    return this.#leaving;
  }

  /** The sum of the counts of their calls. */
  get tally(): Readonly<Tally> {
    const sum: Tally = { inFlight: 0, ...this.#gone };
    for (const { tally } of this.#leaving) {
      sum.inFlight += tally.inFlight;
      sum.done += tally.done;
      sum.failed += tally.failed;
      addShared(sum, tally);
    }
    return sum;
  }

  #forget(member: Member): void {
    this.#leaving.delete(member);
    this.#gone.done += member.tally.done;
    this.#gone.failed += member.tally.failed;
    addShared(this.#gone, member.tally);
  }
}

/** Adds the shared values that a worker was sent to a sum. */
function addShared(sum: Pick<Tally, "shared">, { shared }: Tally): void {
  if (shared === undefined) return;
  const { values = 0, bytes = 0 } = sum.shared ?? {};
  sum.shared = { values: values + shared.values, bytes: bytes + shared.bytes };
}
