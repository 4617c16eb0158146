import { reachOf } from "../../discovery/index.ts";
import { HandshakeError } from "../../errors.ts";
import type { Member } from "./member.ts";

/** How long a worker that could not be reached is left alone while other workers can be reached, in milliseconds. */
const RETRY_MS = 1000;
/** How often it warns of a failed TLS handshake with one worker, in milliseconds. */
const WARNING_MS = 60_000;

/** Connects to the workers of a pool. It leaves a worker that it could not reach alone for a while. */
export class Connector {
  readonly #members: ReadonlyMap<string, Member>;
  /** Members that may not be connected. The others are not looked at: there may be thousands. */
  readonly #unconnected = new Set<Member>();
  /** Members whose connection this object is making. It learns if that fails. */
  readonly #trying = new Set<Member>();
  /** When it last warned of each worker, by uid. */
  readonly #warnedAt = new Map<string, number>();
  /** Uids of workers that were reached once, or that it has warned of. */
  readonly #known = new Set<string>();
  readonly #unreachable: (member: Member, error: Error) => void;

  /** `unreachable` is called for each member that could not be connected. */
  constructor(members: ReadonlyMap<string, Member>, unreachable: (member: Member, error: Error) => void) {
    this.#members = members;
    this.#unreachable = unreachable;
  }

  /** A member has come, or its connection was lost. */
  watch(member: Member): void {
    this.#unconnected.add(member);
  }

  /** A member has gone. */
  forget(member: Member): void {
    this.#unconnected.delete(member);
  }

  /**
   * Connects to every worker that is not connected. `isCalm`: there is no hurry, because another worker is expected back;
   * a worker that could not be reached just now is left alone even if it is the only one.
   */
  connect(isCalm: boolean): void {
    if (this.#unconnected.size === 0) return;
    let hopeful = isCalm || this.#unconnected.size < this.#members.size;
    const idle: Member[] = [];
    for (const member of this.#unconnected) {
      const { state, sessions } = member.link;
      if (state === "idle") idle.push(member);
      else hopeful = true;
      // Another user of the same link may have begun to connect.
      if (state === "connecting") this.connectTo(member);
      // A worker whose task threads have all ended may lose its connection without notice.
      if (state === "ready" && sessions.length > 0) this.#unconnected.delete(member);
    }
    const now = idle.length === 0 ? 0 : performance.now();
    for (const member of idle) {
      // While others can be reached, a worker that could not be reached is left alone.
      if (!hopeful || member.retryAt <= now) this.connectTo(member);
    }
  }

  /** Connects to one worker, unless that is under way. */
  connectTo(member: Member): void {
    if (this.#trying.has(member)) return;
    this.#trying.add(member);
    member.link.connect().then(
      () => {
        this.#trying.delete(member);
        member.failure = undefined;
        this.#known.add(member.uid);
        member.retryAt = 0;
      },
      (error: Error) => {
        this.#trying.delete(member);
        this.#failed(member, error);
      },
    );
  }

  /** Whether a worker that is not connected may be tried now. */
  isDue(member: Member): boolean {
    return member.failure === undefined || member.retryAt <= performance.now();
  }

  /** Warns at most once in `WARNING_MS`: a wrong certificate stays wrong for a while. */
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

  /** A remote worker that could never be reached is most likely announced at a wrong address. */
  #tellIfNeverReached({ uid, metadata: { address } }: Member, error: Error): void {
    const isElsewhere = reachOf(address) === "address" || reachOf(address) === "name";
    if (!isElsewhere || this.#known.has(uid)) return;
    this.#known.add(uid);
    process.emitWarning(
      `worker ${uid} is announced at ${address} and cannot be reached there; other workers are used meanwhile: ${error.message}`,
      "WoolWarning",
    );
  }
}
