import type { Call } from "../../call/index.ts";
import { PermissionDenied, RpcError, TransientRpcError } from "../../errors.ts";
import { StatusCode } from "../../grpc/index.ts";
import type { Connector, Member } from "../members/index.ts";
import type { EligibleWorkers } from "./eligible-workers.ts";
import type { Placement } from "./placement.ts";
import type { Prospects } from "./prospects.ts";

/** What placements work with. */
export interface PlacementOptions {
  readonly members: ReadonlyMap<string, Member>;
  readonly connector: Connector;
  /** The workers that may have a call, as balancers see them. */
  readonly eligible: EligibleWorkers;
  readonly prospects: Prospects;
  /** Takes a worker out of the pool. It is admitted again after a while. */
  readonly evict: (member: Member, error: Error) => void;
  /** Called when placements should be asked again. */
  readonly again: () => void;
  /** Called when one was withdrawn. */
  readonly withdrawn: () => void;
}

/** Calls that are placed one by one. Each is on a shelf with others that wait for the same thing. */
export class Placements {
  readonly options: PlacementOptions;
  /** Counts the moments at which there may have been more room than before. */
  progress = 0;
  /** Calls that a worker gave back. They are asked about before others. */
  readonly #urgent = new Set<Placement>();
  /** Calls that no worker has room for. */
  readonly #open = new Set<Placement>();
  /** Calls that a balancer thinks about. */
  readonly #thinking = new Set<Placement>();
  /** Calls that a dispatching balancer has not sent yet. */
  readonly #held = new Set<Placement>();
  readonly #queues = new Map<Member, WorkerQueue>();
  #size = 0;

  constructor(options: PlacementOptions) {
    this.options = options;
  }

  /** Calls that wait. */
  get size(): number {
    return this.#size;
  }

  /** Whether any of them waits for a worker, and not for a balancer. */
  get waitForWorkers(): boolean {
    return this.#size > this.#thinking.size + this.#held.size;
  }

  /** Whether some worker may take a call: it has room, or is not connected yet. */
  get isWorthAsking(): boolean {
    for (const member of this.options.members.values()) {
      if (member.link.state !== "ready" || member.roomiest() !== undefined) return true;
    }
    return false;
  }

  /** Calls that wait for this worker only. */
  waitingFor(member: Member): number {
    const queue = this.#queues.get(member);
    return queue === undefined ? 0 : queue.patient.size + queue.impatient.size;
  }

  /** Keeps a call to ask about when there is room. */
  keep(placement: Placement): void {
    this.#put(placement, placement.call.recipient === undefined ? this.#open : this.#urgent);
  }

  /** Keeps a call while the balancer thinks. */
  think(placement: Placement): void {
    this.#put(placement, this.#thinking);
  }

  /** Keeps a call for as long as the balancer likes. */
  hold(placement: Placement): void {
    this.#put(placement, this.#held);
  }

  /** Lets a call wait for a worker. `patient`: also when the worker is connected and has no room. */
  queueFor(placement: Placement, member: Member, patient: boolean): void {
    let queue = this.#queues.get(member);
    if (queue === undefined) {
      queue = { patient: new Set(), impatient: new Set() };
      this.#queues.set(member, queue);
    }
    this.#put(placement, patient ? queue.patient : queue.impatient);
  }

  /** Does not keep a call any more. */
  release(placement: Placement): void {
    if (placement.shelf === undefined) return;
    placement.shelf.delete(placement);
    placement.shelf = undefined;
    this.#size--;
  }

  /**
   * Hands out the calls that wait for workers with room, and asks again about the calls that no worker had room for.
   */
  distribute(): void {
    if (this.#queues.size > 0) for (const member of Array.from(this.#queues.keys())) this.distributeTo(member);
    this.#askAgain(this.#urgent);
    this.#askAgain(this.#open);
  }

  /** Hands to one worker as many of its calls as it has room for. */
  distributeTo(member: Member): void {
    const queue = this.#queues.get(member);
    if (queue === undefined || member.link.state === "connecting") return;
    if (member.link.state !== "ready") return this.giveBack(member);
    const { link } = member;
    for (let session = member.roomiest(); session !== undefined; session = member.roomiest()) {
      const waiting = this.waitingFor(member);
      if (waiting === 0) break;
      const count = Math.min(session.room, Math.ceil(waiting / link.sessions.length));
      session.send(this.#take(queue, count), member, true);
    }
    this.#miss(member, Array.from(queue.impatient));
  }

  /** A worker refused a call. It leaves the pool if it would refuse every other call too. */
  refusedBy(uid: string, error: Error): void {
    const member = this.options.members.get(uid);
    // A permission that one call lacks says nothing about other calls.
    const isTaskOnly = error instanceof TransientRpcError || error instanceof PermissionDenied;
    if (member !== undefined && !isTaskOnly) this.options.evict(member, error);
  }

  /** Gives back every call that waits for a worker. */
  giveBack(member: Member): void {
    const queue = this.#queues.get(member);
    if (queue !== undefined) this.#miss(member, [...queue.impatient, ...queue.patient]);
  }

  /** Every call that waits. `held`: also the calls that a balancer holds. */
  calls(held: boolean): Call[] {
    const queued = [...this.#queues.values()].flatMap(({ patient, impatient }) => [...impatient, ...patient]);
    const kept = [...this.#urgent, ...this.#open, ...queued, ...this.#thinking, ...(held ? this.#held : [])];
    return kept.map(({ call }) => call);
  }

  /** A worker is back, as a new process: earlier refusals do not count. */
  arrived(uid: string): void {
    for (const call of this.calls(false)) call.refusals?.delete(uid);
  }

  #put(placement: Placement, shelf: Set<Placement>): void {
    if (placement.shelf === shelf) return;
    if (placement.shelf === undefined) this.#size++;
    else placement.shelf.delete(placement);
    placement.shelf = shelf;
    shelf.add(placement);
  }

  #take({ impatient, patient }: WorkerQueue, count: number): Call[] {
    const taken: Call[] = [];
    for (const shelf of [impatient, patient]) {
      for (const placement of shelf) {
        if (taken.length === count) return taken;
        this.release(placement);
        taken.push(placement.call);
      }
    }
    return taken;
  }

  #askAgain(shelf: ReadonlySet<Placement>): void {
    for (const placement of shelf) {
      if (!this.isWorthAsking) return;
      placement.ask();
    }
  }

  #miss(member: Member, missed: readonly Placement[]): void {
    if (this.waitingFor(member) === missed.length) this.#queues.delete(member);
    if (missed.length === 0) return;
    const { failure, uid } = member;
    const gone = `worker ${uid} left the pool before it took the task`;
    const error = failure instanceof RpcError ? failure : new TransientRpcError(gone, StatusCode.UNAVAILABLE);
    for (const placement of missed) placement.missed(error);
    this.options.again();
  }
}

/** The calls that wait for one worker. The impatient ones wait until it is connected, but not for room. */
interface WorkerQueue {
  readonly impatient: Set<Placement>;
  readonly patient: Set<Placement>;
}
