import type { LoadBalancerLike } from "../../balancing/index.ts";
import type { Call } from "../../call/index.ts";
import { runsLanguage } from "../../discovery/index.ts";
import { NoWorkersAvailable } from "../../errors.ts";
import { DEFAULT_LANGUAGE } from "../../wire/index.ts";
import type { Member } from "../members/index.ts";
import type { EligibleWorkers } from "./eligible-workers.ts";
import type { Offers } from "./offers.ts";

/** Decides whether a call that waits can still get a worker. */
export class Prospects {
  readonly #members: ReadonlyMap<string, Member>;
  readonly #eligible: EligibleWorkers;
  readonly #returning: { readonly any: boolean };
  readonly #absences: () => readonly Error[];

  /**
   * `returning`: whether workers that are away are expected back. `absences`: why workers that were found are no members.
   */
  constructor(
    members: ReadonlyMap<string, Member>,
    eligible: EligibleWorkers,
    returning: { readonly any: boolean },
    absences: () => readonly Error[],
  ) {
    this.#members = members;
    this.#eligible = eligible;
    this.#returning = returning;
    this.#absences = absences;
  }

  /** Returns what makes the error of each waiting call when no worker will take any; undefined while one may. */
  ofAll(): ((call: Call) => Error) | undefined {
    if (this.#returning.any) return undefined;
    const failures: Error[] = [];
    for (const { link, failure } of this.#members.values()) {
      // A worker that is connected, is being connected to, or was not tried yet.
      if (link.state !== "idle" || failure === undefined) return undefined;
      failures.push(failure);
    }
    const absences = this.#absences();
    if (failures.length === 0) return (call) => nobodyLeft(call, absences);
    return () => noWorkers("no worker could be reached", [...failures, ...absences]);
  }

  /** The same for routines whose code travels: undefined while a worker runs them, or one may be back that does. */
  ofUsual(): ((call: Call) => Error) | undefined {
    if (this.#returning.any || this.#members.size === 0) return undefined;
    for (const member of this.#members.values()) if (member.isUsual) return undefined;
    return (call) => this.#unspoken(call);
  }

  /**
   * The error of a call that needs tags or a language that no worker has. Undefined while a worker has them, or one
   * that had them may be back.
   */
  ofNeeds(call: Call): Error | undefined {
    const { language } = call.route;
    const { needs } = call.extras ?? {};
    if (needs === undefined && language === undefined) return undefined;
    if (this.#returning.any || this.#members.size === 0) return undefined;
    if (this.#eligible.for(call).workers.size > 0) return undefined;
    const workers = [...this.#members.values()].map(({ metadata }) => metadata);
    if (needs === undefined || !workers.some((worker) => runsLanguage(worker, language ?? DEFAULT_LANGUAGE))) {
      return this.#unspoken(call);
    }
    const present = [...new Set(workers.flatMap(({ tags }) => [...tags]))].sort();
    const have = workers.length === 1 ? "has" : "have";
    const found = present.length === 0 ? `${have} no tags` : `${have} only ${listTags(present)}`;
    const who = workers.length === 1 ? "the one worker" : `the ${workers.length} workers`;
    const nobody = present.some((tag) => needs.includes(tag)) ? ", and none has all that it needs" : "";
    return noWorkers(
      `${call.route.name} needs ${listTags(needs)}, and ${who} of the pool ${found}${nobody}: ` +
        "start workers with these tags, or ask for others",
      this.#absences(),
    );
  }

  /** The error of a call whose language no worker runs. */
  #unspoken({ route }: Call): Error {
    const { name, language = DEFAULT_LANGUAGE } = route;
    const workers = [...this.#members.values()].map(({ metadata }) => metadata);
    const spoken = [...new Set(workers.flatMap(({ languages = [DEFAULT_LANGUAGE] }) => languages))].sort().join(", ");
    const who =
      workers.length === 1 ? "the one worker of the pool runs" : `the ${workers.length} workers of the pool run`;
    return noWorkers(
      `${name} is a function of ${language}, and ${who} ${spoken}: add a worker that runs ${language}`,
      this.#absences(),
    );
  }

  /** The error of a call when no worker that a balancer offered for it will take it; undefined while one may. */
  ofOne(call: Call, offers: Offers, balancer: LoadBalancerLike): Error | undefined {
    const unfit = this.ofNeeds(call);
    if (unfit !== undefined) return unfit;
    if (offers.full || offers.reconnecting !== undefined) return undefined;
    if (offers.any && this.#returning.any) return undefined;
    const errors = new Set([...(call.refusals?.values() ?? []), ...offers.errors]);
    // The user chose no balancer here, so the message does not name one.
    const reason =
      balancer.levels === true && offers.any
        ? "every worker refused it or cannot be reached"
        : offers.explain(balancer);
    return noWorkers(reason, [...errors]);
  }

  /** Whether there is a worker other than the one that had the call that has not refused it. */
  hasOther({ recipient, refusals }: Call): boolean {
    for (const uid of this.#members.keys()) if (uid !== recipient?.uid && refusals?.has(uid) !== true) return true;
    return false;
  }
}

/** Tags as they are shown in messages. */
export function listTags(tags: readonly string[]): string {
  const quoted = tags.map((tag) => JSON.stringify(tag)).join(", ");
  return `the ${tags.length === 1 ? "tag" : "tags"} ${quoted}`;
}

/** The error of a call that no worker took. */
function noWorkers(reason: string, errors: readonly Error[]): NoWorkersAvailable {
  const details = errors.map((error) => `\n  - ${error.message}`).join("");
  return new NoWorkersAvailable(`no worker took the call: ${reason}${details}`, errors);
}

/** The error of a call when there are no workers, or no more. */
function nobodyLeft({ refusals, lostBefore }: Call, absences: readonly Error[]): Error {
  const errors = new Set([
    ...(refusals?.values() ?? []),
    ...(lostBefore === undefined ? [] : [lostBefore]),
    ...absences,
  ]);
  const reason =
    refusals !== undefined
      ? "every worker refused it"
      : absences.length > 0
        ? "all workers that were found or started are gone"
        : "no workers are known";
  return noWorkers(reason, [...errors]);
}
