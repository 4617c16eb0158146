import {
  LeastLoadedLoadBalancer,
  LoadBalancerContext,
  type LoadBalancerLike,
  type TaskInfo,
} from "../balancing/index.ts";
import type { Call, CallOwner } from "../connection/call.ts";
import { wasNeverTaken } from "../connection/error-classes.ts";
import { RemoteFailure } from "../connection/remote-failure.ts";
import type { Session } from "../connection/session.ts";
import type { LinkListener, WorkerLink } from "../connection/worker-link.ts";
import { HandshakeError, NoWorkersAvailable, PoolSaturated, TransientRpcError, WorkerLost } from "../errors.ts";
import { dropPayloadFile } from "../security/index.ts";
import { level } from "./level.ts";
import type { Member } from "./member.ts";

/** How long a worker that could not be reached is left alone while others can be, in milliseconds. */
const RETRY_MS = 1000;

/** Calls in a row that make a caller one that waits for each answer. */
const LONG_STREAK = 64;
/** After so many calls of such a caller another worker has its turn. */
const SERIAL_TURN = 1024;

/** How a scheduler is made. */
export interface SchedulerOptions {
  /** Most calls that may wait for room. */
  readonly maxPending: number;
  /** Takes a worker out of the pool for good. */
  readonly evict: (member: Member, error: Error) => void;
}

/**
 * Hands calls to workers. Calls wait here, not at a worker, until one has room: whoever is free first gets the next.
 * Those made in one turn of the event loop are handed out together.
 */
export class Scheduler implements CallOwner, LinkListener {
  readonly members = new Map<string, Member>();
  /** The members as the balancer sees them. */
  readonly context = new LoadBalancerContext((uid) => this.members.get(uid)?.link.inFlight ?? 0);
  balancer: LoadBalancerLike = new LeastLoadedLoadBalancer();
  /** Counts of workers that are no longer members. */
  readonly departed = { done: 0, failed: 0 };
  readonly #options: SchedulerOptions;
  /** `collecting`: calls wait until workers have been found. `open`: they are handed out. */
  #state: "collecting" | "open" = "collecting";
  #queue: Call[] = [];
  /** Calls before this index of the queue have been handed out. */
  #head = 0;
  /** Calls that one worker or more refused: they are handed out one by one. */
  readonly #retries: Call[] = [];
  #holes = 0;
  #turn = 0;
  /** Calls in a row that were made when nothing else was under way. */
  #streak = 0;
  /** Who got the last call. */
  #lastSerial: { readonly session: Session; readonly member: Member } | undefined;
  #scheduled = false;
  /** Whether the balancer is being asked, and whether it must be asked again after that. */
  #asking: "no" | "once" | "again" = "no";
  readonly #distributeNow = (): void => {
    this.#scheduled = false;
    this.distribute();
  };

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Calls that wait for room. */
  get queued(): number {
    return this.#queue.length - this.#head - this.#holes + this.#retries.length;
  }

  add(member: Member): void {
    this.members.set(member.uid, member);
    this.context.add(member.metadata);
    this.progressed();
  }

  remove(member: Member): void {
    this.members.delete(member.uid);
    this.context.remove(member.uid);
    this.departed.done += member.tally.done;
    this.departed.failed += member.tally.failed;
    if (this.#state === "open") this.#failIfUnreachable();
  }

  /** Takes a call. Throws `PoolSaturated` when too many wait already. */
  submit(call: Call): void {
    if (this.queued >= this.#options.maxPending && !this.#hasRoom()) {
      throw new PoolSaturated(
        `${this.queued} calls wait for a worker and maxPending is ${this.#options.maxPending}: ` +
          "await some before making more, or use pool.map, which bounds what is in flight",
      );
    }
    if (this.balancer.settled !== undefined) this.#reportSettled(call);
    this.#queue.push(call);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Alone, a call goes out at once; with others under way it waits for those of its turn to share a message.
    if (this.#isIdle()) process.nextTick(this.#distributeNow);
    else setImmediate(this.#distributeNow);
  }

  /** Whether every worker reads files of this process. */
  get sharesFiles(): boolean {
    for (const member of this.members.values()) if (!member.link.sharesFiles) return false;
    return this.members.size > 0;
  }

  /** Takes back a call that has not been handed to a worker. */
  withdraw(call: Call): void {
    call.state = "ended";
    if (call.file !== undefined) dropPayloadFile(call.file, call.argsEnd);
    const retry = this.#retries.indexOf(call);
    if (retry >= 0) this.#retries.splice(retry, 1);
    else this.#holes++;
  }

  /** Begins to hand out calls. */
  open(): void {
    this.#state = "open";
    this.distribute();
  }

  /** Hands out as many waiting calls as there is room for. */
  distribute(): void {
    if (this.#state === "collecting") return;
    if (this.#retries.length > 0) this.#distributeRetries();
    if (this.#head === this.#queue.length) return;
    if (this.members.size === 0) return this.failAll(noWorkers("no workers are known", []));
    this.connect();
    if (this.#holes > 0) this.#compact();
    if (this.balancer.levels === true) this.#distributeRounds();
    else void this.#distributeAsked();
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
  }

  /** Fails every waiting call. */
  failAll(error: Error): void {
    const waiting = [...this.#retries.splice(0), ...this.#queue.slice(this.#head)];
    this.#queue = [];
    this.#head = 0;
    this.#holes = 0;
    for (const call of waiting) if (call.state === "waiting") fail(call, error);
  }

  progressed(): void {
    if (this.#head < this.#queue.length || this.#retries.length > 0) this.distribute();
  }

  interrupted(link: WorkerLink, error: Error): void {
    for (const member of this.members.values()) if (member.link === link) member.failure = error;
  }

  rejected(call: Call, error: Error): void {
    const { worker } = call;
    call.worker = "";
    this.balancer.settled?.(worker, { status: "rejected" });
    if (!wasNeverTaken(error)) {
      this.#refused(call, worker, error);
      const member = this.members.get(worker);
      if (member !== undefined && !(error instanceof TransientRpcError)) this.#options.evict(member, error);
    }
    this.#retries.push(call);
    this.#scheduleSoon();
  }

  remade(call: Call): void {
    this.#queue.push(call);
    this.#scheduleSoon();
  }

  lost(call: Call, error: Error): void {
    this.balancer.settled?.(call.worker, { status: "lost" });
    call.state = "lost";
    if (call.tally !== undefined) call.tally.failed++;
    if (call.extras?.idempotent === true && call.stream === undefined && !call.lostBefore) {
      call.lostBefore = true;
      call.state = "waiting";
      this.#refused(call, call.worker, error);
      this.#retries.push(call);
      this.#distributeNow();
      return;
    }
    call.reject(
      new RemoteFailure(
        error instanceof WorkerLost
          ? new WorkerLost(
              `${error.message}; ${call.route.name} had been handed to it and may or may not have run ` +
                "(a routine with { idempotent: true } is tried once more elsewhere)",
            )
          : error,
      ),
    );
  }

  #reportSettled(call: Call): void {
    const { resolve, reject } = call;
    call.resolve = (value) => {
      this.balancer.settled?.(call.worker, { status: "done" });
      resolve(value);
    };
    call.reject = (failure) => {
      // One that was lost has been reported as such.
      if (call.worker !== "" && call.state !== "lost") this.balancer.settled?.(call.worker, { status: "failed" });
      reject(failure);
    };
  }

  #refused(call: Call, uid: string, error: Error): void {
    call.refusals ??= new Map();
    call.refusals.set(uid, error);
  }

  #scheduleSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.#distributeNow);
  }

  #isIdle(): boolean {
    for (const member of this.members.values()) if (member.link.inFlight > 0) return false;
    return true;
  }

  #hasRoom(): boolean {
    for (const member of this.members.values()) if (member.roomiest() !== undefined) return true;
    return false;
  }

  #compact(): void {
    this.#queue = this.#queue.slice(this.#head).filter((call) => call.state === "waiting");
    this.#head = 0;
    this.#holes = 0;
  }

  /** Calls whose arguments take long to send leave room for others: there may be more to hand out after a round. */
  #distributeRounds(): void {
    let before = -1;
    while (this.#head < this.#queue.length && this.#head !== before) {
      before = this.#head;
      this.#distributeLevel();
    }
  }

  /**
   * A caller that waits for each answer before it makes the next call stays with one worker after a while, whose threads
   * are awake: that halves the time of such calls. Returns whether the only waiting call was handed out so.
   */
  #distributeSerial(): boolean {
    const last = this.#lastSerial;
    const serial = this.#queue.length - this.#head === 1 && this.#isIdle();
    this.#streak = serial ? this.#streak + 1 : 0;
    if (this.#streak < LONG_STREAK || this.#streak % SERIAL_TURN === 0 || last === undefined) return false;
    if (!last.session.isOpen || last.session.window.room <= 0) return false;
    if (this.members.get(last.member.uid) !== last.member) return false;
    this.#send(last.session, last.member, 1);
    return true;
  }

  /** The least loaded workers get runs of calls, so that each run is one message. */
  #distributeLevel(): void {
    if (this.#distributeSerial()) return;
    const sessions: Session[] = [];
    const owners: Member[] = [];
    for (const member of this.members.values()) {
      for (const session of member.link.sessions) {
        if (session.window.room <= 0) continue;
        sessions.push(session);
        owners.push(member);
      }
    }
    if (sessions.length === 0) return this.#failIfUnreachable();
    const first = this.#turn++ % sessions.length;
    const order = sessions.map((_, i) => (first + i) % sessions.length);
    const vessels = order.map((i) => {
      const session = sessions[i] as Session;
      return { load: session.inFlight, room: session.window.room };
    });
    const shares = level(vessels, this.#queue.length - this.#head);
    for (let i = 0; i < order.length; i++) {
      const share = shares[i] as number;
      if (share > 0) this.#send(sessions[order[i] as number] as Session, owners[order[i] as number] as Member, share);
    }
  }

  #send(session: Session, member: Member, count: number): void {
    const from = this.#head;
    const to = from + count;
    for (let i = from; i < to; i++) {
      const call = this.#queue[i] as Call;
      call.worker = member.uid;
      call.tally = member.tally;
    }
    this.#head = to;
    if (this.#lastSerial === undefined || this.#lastSerial.session !== session) this.#lastSerial = { session, member };
    session.send(this.#queue, from, to);
  }

  /**
   * Asks the balancer for each call; one whose workers have no room waits, and others may pass it. Calls that come while
   * the balancer thinks are asked about after that.
   */
  async #distributeAsked(): Promise<void> {
    if (this.#asking !== "no") {
      this.#asking = "again";
      return;
    }
    do {
      this.#asking = "once";
      for (const call of this.#queue.slice(this.#head)) {
        if (call.state === "waiting" && (await this.#tryAsBalanced(call))) this.#dequeue(call);
      }
    } while (this.#askedAgain());
    this.#asking = "no";
    if (this.#head < this.#queue.length) this.#failIfUnreachable();
  }

  #askedAgain(): boolean {
    return this.#asking === "again" && this.#head < this.#queue.length;
  }

  #dequeue(call: Call): void {
    const index = this.#queue.indexOf(call, this.#head);
    if (index >= 0) this.#queue.splice(index, 1);
  }

  async #tryAsBalanced(call: Call): Promise<boolean> {
    const { balancer, context } = this;
    const chosen = this.#tryChosen(call);
    if (chosen !== undefined) return chosen;
    try {
      for await (const uid of balancer.delegate(taskInfo(call), context)) {
        const member = this.members.get(uid);
        if (member === undefined || call.refusals?.has(uid) === true) continue;
        // A worker that is being connected to is the balancer's choice all the same.
        if (member.link.state === "connecting") {
          call.chosen = uid;
          return false;
        }
        const session = member.roomiest();
        if (session === undefined) continue;
        // It may have been withdrawn while the balancer thought.
        if (call.state !== "waiting") return false;
        this.#sendOne(call, member, session);
        return true;
      }
    } catch (error) {
      fail(call, error instanceof Error ? error : new Error(String(error)));
      return true;
    }
    return false;
  }

  /**
   * Goes on with the worker that the balancer chose when it was being connected to: asked twice for one call, a balancer
   * that takes turns would leave somebody out. Nothing when it must be asked.
   */
  #tryChosen(call: Call): boolean | undefined {
    const member = this.members.get(call.chosen);
    if (member === undefined || call.refusals?.has(member.uid) === true) return undefined;
    if (member.link.state === "connecting") return false;
    const session = member.roomiest();
    if (session === undefined) return undefined;
    this.#sendOne(call, member, session);
    return true;
  }

  #sendOne(call: Call, member: Member, session: Session): void {
    call.worker = member.uid;
    call.tally = member.tally;
    session.send([call], 0, 1);
  }

  /** Calls that were refused go to a worker that has not refused them yet. */
  #distributeRetries(): void {
    const now = performance.now();
    for (const call of this.#retries.splice(0)) {
      if (call.state !== "waiting") continue;
      const untried = [...this.members.values()].filter((member) => this.#mayTake(call, member, now));
      const member = untried.find((candidate) => candidate.roomiest() !== undefined);
      const session = member?.roomiest();
      if (member !== undefined && session !== undefined) this.#sendOne(call, member, session);
      else if (untried.length === 0)
        fail(call, noWorkers("every worker refused it", [...(call.refusals?.values() ?? [])]));
      else {
        this.#retries.push(call);
        this.connect();
      }
    }
  }

  /** A worker that refused the call may not have it again; one that could not be reached just now has refused it, too. */
  #mayTake(call: Call, member: Member, now: number): boolean {
    if (call.refusals?.has(member.uid) === true) return false;
    if (member.link.state !== "idle" || member.failure === undefined || member.retryAt <= now) return true;
    this.#refused(call, member.uid, member.failure);
    return false;
  }

  /** Connects to every worker that is not connected. */
  connect(): void {
    let hopeful = false;
    const idle: Member[] = [];
    for (const member of this.members.values()) {
      if (member.link.state === "idle") idle.push(member);
      else hopeful = true;
    }
    const now = idle.length === 0 ? 0 : performance.now();
    for (const member of idle) {
      // While others can be reached, one that could not is left alone for a while.
      if (!hopeful || member.retryAt <= now) this.#connect(member);
    }
  }

  #connect(member: Member): void {
    member.link.connect().then(
      () => {
        member.failure = undefined;
        member.retryAt = 0;
      },
      (error: Error) => this.#unreachable(member, error),
    );
  }

  #unreachable(member: Member, error: Error): void {
    if (this.members.get(member.uid) !== member) return;
    member.failure = error;
    member.retryAt = performance.now() + RETRY_MS;
    for (const call of this.#retries) this.#refused(call, member.uid, error);
    if (!(error instanceof TransientRpcError)) this.#options.evict(member, error);
    else if (error instanceof HandshakeError) process.emitWarning(error.message, "WoolWarning");
    if (this.#retries.length > 0) this.#distributeRetries();
    this.#failIfUnreachable();
  }

  /** When no worker is reachable and none is being connected to, waiting is in vain. */
  #failIfUnreachable(): void {
    if (this.queued === 0) return;
    const failures: Error[] = [];
    for (const member of this.members.values()) {
      if (member.link.state !== "idle") return;
      if (member.failure !== undefined) failures.push(member.failure);
    }
    this.failAll(noWorkers("no worker could be reached", failures));
  }
}

function fail(call: Call, error: Error): void {
  call.state = "ended";
  if (call.file !== undefined) dropPayloadFile(call.file, call.argsEnd);
  call.reject(new RemoteFailure(error));
}

function noWorkers(reason: string, errors: readonly Error[]): NoWorkersAvailable {
  const details = errors.map((error) => `\n  - ${error.message}`).join("");
  return new NoWorkersAvailable(`no worker took the call: ${reason}${details}`, errors);
}

function taskInfo(call: Call): TaskInfo {
  return { sequence: call.sequence, name: call.route.name, key: call.extras?.key };
}
