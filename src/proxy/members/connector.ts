import { reachOf } from "../../discovery/index.ts";
import { HandshakeError } from "../../errors.ts";
import type { Member } from "./member.ts";

/** How long a worker that could not be reached is left alone while others can be, in milliseconds. */
const RETRY_MS = 1000;
/** How often a worker is warned of that TLS fails with, in milliseconds. */
const WARNING_MS = 60_000;

/** Connects to the workers of a pool, and leaves those alone for a while that cannot be reached. */
export class Connector {
  readonly #members: ReadonlyMap<string, Member>;
  /** When each worker was last warned of, by uid. */
  readonly #warnedAt = new Map<string, number>();
  /** Uids of workers that were reached once, or told to be out of reach. */
  readonly #known = new Set<string>();
  readonly #unreachable: (member: Member, error: Error) => void;

  /** `unreachable` is told of each member that could not be connected to. */
  constructor(members: ReadonlyMap<string, Member>, unreachable: (member: Member, error: Error) => void) {
    this.#members = members;
    this.#unreachable = unreachable;
  }

  /** Connects to every worker that is not connected. */
  connect(): void {
    let hopeful = false;
    const idle: Member[] = [];
    for (const member of this.#members.values()) {
      if (member.link.state === "idle") idle.push(member);
      else hopeful = true;
    }
    const now = idle.length === 0 ? 0 : performance.now();
    for (const member of idle) {
      // While others can be reached, one that could not is left alone for a while.
      if (!hopeful || member.retryAt <= now) this.connectTo(member);
    }
  }

  /** Connects to one worker. */
  connectTo(member: Member): void {
    member.link.connect().then(
      () => {
        member.failure = undefined;
        this.#known.add(member.uid);
        member.retryAt = 0;
      },
      (error: Error) => this.#failed(member, error),
    );
  }

  /** Whether a worker that is not connected may be tried now. */
  isDue(member: Member): boolean {
    return member.failure === undefined || member.retryAt <= performance.now();
  }

  /** A certificate that is wrong stays so for a while: nobody wants to read that at each try. */
  #warn(uid: string, error: Error): void {
    const now = performance.now();
    if (now - (this.#warnedAt.get(uid) ?? Number.NEGATIVE_INFINITY) < WARNING_MS) return;
    for (const [known, at] of this.#warnedAt) if (now - at >= WARNING_MS) this.#warnedAt.delete(known);
    this.#warnedAt.set(uid, now);
    process.emitWarning(error.message, "WoolWarning");
  }

  #failed(member: Member, error: Error): void {
    if (this.#members.get(member.uid) !== member) return;
    member.failure = error;
    member.retryAt = performance.now() + RETRY_MS;
    if (error instanceof HandshakeError) this.#warn(member.uid, error);
    else this.#tellIfNeverReached(member, error);
    this.#unreachable(member, error);
  }

  /** A worker elsewhere that could never be reached is most likely announced at an address that leads nowhere. */
  #tellIfNeverReached({ uid, metadata: { address } }: Member, error: Error): void {
    const isElsewhere = reachOf(address) === "address" || reachOf(address) === "name";
    if (!isElsewhere || this.#known.has(uid)) return;
    this.#known.add(uid);
    process.emitWarning(
      `worker ${uid} is announced at ${address} and cannot be reached there; others are used meanwhile: ${error.message}`,
      "WoolWarning",
    );
  }
}
