import type { LoadBalancerLike } from "../../balancing/index.ts";
import { describeValue } from "../../checks/index.ts";
import type { Member } from "../members/index.ts";

/** A balancer that makes this many offers more than two for each worker seems to go on forever. */
const SPARE_OFFERS = 64;
/** Unknown uids that an error message names. */
const NAMED = 3;

/** The workers that a balancer offered for one call, and why none of them has taken it. */
export class Offers {
  /** Uids of workers that are not in the pool. */
  readonly unknown: string[] = [];
  /** Why workers cannot have the call. */
  readonly errors: Error[] = [];
  /** Some worker has no room now. */
  full = false;
  /** A worker that could not be reached and is being tried again. */
  reconnecting: Member | undefined;
  readonly #limit: number;
  #first: string | undefined;
  /** All offered uids, once there is more than one. */
  #seen: Set<string> | undefined;
  #count = 0;

  /** `workers`: how many the pool has. */
  constructor(workers: number) {
    this.#limit = 2 * workers + SPARE_OFFERS;
  }

  /** Whether there was an offer. */
  get any(): boolean {
    return this.#count > 0;
  }

  /** Whether the balancer seems to go on forever. */
  get areTooMany(): boolean {
    return this.#count > this.#limit;
  }

  /** Counts an offer. Returns false when it was made before. */
  isNew(uid: string): boolean {
    this.#count++;
    if (this.#first === undefined) {
      this.#first = uid;
      return true;
    }
    this.#seen ??= new Set([this.#first]);
    const before = this.#seen.size;
    return this.#seen.add(uid).size > before;
  }

  /** Says why no worker took the call. */
  explain(balancer: LoadBalancerLike): string {
    const who = `the load balancer, ${describeValue(balancer)},`;
    if (!this.any) return `${who} offered none: its delegate() must yield the uids of workers to try`;
    if (this.errors.length > 0) return `each one that ${who} offered refused it or cannot be reached`;
    const named = this.unknown.slice(0, NAMED).map(describeValue).join(", ");
    const more = this.unknown.length > NAMED ? " and others" : "";
    return `${who} offered only workers that are not in the pool: ${named}${more}`;
  }
}
