import { setImmediate as turn } from "node:timers/promises";
import { Call } from "../../src/call/call.ts";
import type { CallExtras, PoolReference, Recipient } from "../../src/call/call-parties.ts";
import { RemoteFailure } from "../../src/call/remote-failure.ts";
import type { RemoteTask } from "../../src/call/remote-task.ts";
import type { WorkerMetadata } from "../../src/discovery/index.ts";
import { WorkerLost } from "../../src/errors.ts";
import { Member, type MemberLink, type MemberSession } from "../../src/proxy/members/member.ts";
import { Scheduler } from "../../src/proxy/scheduling/scheduler.ts";
import type { Route } from "../../src/routine/route.ts";

export const ROUTE = { name: "add" } as Route;

/** A call at a fake task thread, which records that it was cancelled. */
export class FakeTask implements RemoteTask {
  readonly isWritten = true;
  readonly session: FakeSession;
  readonly #call: Call;

  constructor(session: FakeSession, call: Call) {
    this.session = session;
    this.#call = call;
  }

  cancel(): void {
    this.session.cancelled.push(this.#call);
  }

  abortSignal(): void {}
  step(): void {}
  credit(): void {}
  setWaitedFor(): void {}
}

/** A task thread that takes as many calls as it has room for. */
export class FakeSession implements MemberSession {
  readonly cancelled: Call[] = [];
  readonly runs: Call[][] = [];
  /** Versions of pools that it was told of. */
  readonly refreshed: number[] = [];
  room: number;
  inFlight = 0;
  isOpen = true;

  constructor(room: number) {
    this.room = room;
  }

  get calls(): Call[] {
    return this.runs.flat();
  }

  send(calls: readonly Call[], recipient: Recipient): void {
    this.runs.push([...calls]);
    this.inFlight += calls.length;
    this.room -= calls.length;
    for (const call of calls) call.send(new FakeTask(this, call), recipient);
  }

  refresh(pool: PoolReference): void {
    this.refreshed.push(pool.version);
  }

  callsOf(recipient: Recipient): Call[] {
    return this.calls.filter((call) => this.has(call) && call.recipient === recipient);
  }

  /** Whether the thread has the call, and somebody waits for it. */
  has({ task }: Call): boolean {
    return task instanceof FakeTask && task.session === this;
  }

  /** The worker has sent its final answer to a call. */
  over(call: Call): void {
    this.inFlight--;
    this.room++;
    call.leave();
  }
}

export class FakeLink implements MemberLink {
  readonly address = "fake";
  readonly responds = true;
  state: "idle" | "connecting" | "ready" = "idle";
  sharesFiles = false;
  sessions: FakeSession[] = [];
  connects = 0;
  readonly #prepared: FakeSession[];
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(rooms: readonly number[]) {
    this.#prepared = rooms.map((room) => new FakeSession(room));
  }

  get isWaitedFor(): boolean {
    return this.inFlight > 0;
  }

  get inFlight(): number {
    return this.sessions.reduce((sum, session) => sum + session.inFlight, 0);
  }

  connect(): Promise<void> {
    this.connects++;
    this.state = "connecting";
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  ready(): void {
    this.state = "ready";
    this.sessions = this.#prepared;
    this.#settle?.resolve();
  }

  fail(error: Error): void {
    this.state = "idle";
    this.#settle?.reject(error);
  }
}

/** A worker of a pool whose connection a test controls. */
export class FakeMember extends Member {
  readonly fake: FakeLink;

  constructor(uid: string, fake: FakeLink) {
    super({ uid, address: `unix:/run/${uid}`, channel: {} } as WorkerMetadata, fake);
    this.fake = fake;
  }

  /** Its first task thread. */
  get session(): FakeSession {
    const [session] = this.fake.sessions;
    if (session === undefined) throw new Error(`${this.uid} is not connected`);
    return session;
  }
}

/** A worker with a task thread for each of `rooms`. */
export function makeMember(uid: string, rooms: readonly number[], state: "idle" | "ready" = "ready"): FakeMember {
  const fake = new FakeLink(rooms);
  if (state === "ready") fake.ready();
  return new FakeMember(uid, fake);
}

/** The outcomes of calls. */
export const ended = new Map<Call, unknown>();

/** A call that records its outcome in `ended`. */
export function makeCall(scheduler: Scheduler, extras?: CallExtras): Call {
  const call = new Call(
    ROUTE,
    scheduler.calls,
    (value) => ended.set(call, value),
    (failure) => ended.set(call, failure instanceof RemoteFailure ? failure.error : failure),
  );
  call.extras = extras;
  return call;
}

/** The uid of the worker that a call was last handed to. */
export function workerOf(call: Call): string | undefined {
  return call.recipient?.uid;
}

/** An open scheduler with these workers. */
export function makeScheduler(
  members: readonly Member[],
  options: { maxPending?: number; balancer?: Scheduler["balancer"]; returns?: (uid: string) => boolean } = {},
) {
  const evicted: string[] = [];
  const scheduler: Scheduler = new Scheduler({
    maxPending: options.maxPending ?? Number.POSITIVE_INFINITY,
    evict: (member) => {
      evicted.push(member.uid);
      scheduler.remove(member);
    },
    ...(options.returns === undefined ? {} : { returns: options.returns }),
  });
  if (options.balancer !== undefined) scheduler.balancer = options.balancer;
  for (const member of members) scheduler.add(member);
  scheduler.open();
  const submit = (count: number, extras?: CallExtras, prepare?: (call: Call) => void): Call[] =>
    Array.from({ length: count }, () => {
      const call = makeCall(scheduler, extras);
      prepare?.(call);
      scheduler.submit(call);
      return call;
    });
  return { scheduler, evicted, submit };
}

/** Waits until everything that is due has happened. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn();
}

/** The worker refuses a call. */
export function refuse({ session }: FakeMember, call: Call, error: Error): void {
  session.over(call);
  call.owner?.rejected(call, error);
}

/** The worker is lost with a call. */
export function lose({ session }: FakeMember, call: Call): void {
  session.over(call);
  call.owner?.lost(call, new WorkerLost("worker gone"));
}

/** The numbers of calls: printed in full, calls fill pages. */
export const numbers = (calls: readonly (Call | undefined)[]) => calls.map((call) => call?.sequence);

/** The only item of a list. Throws unless there is exactly one. */
export function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) throw new Error(`one was wanted, there are ${items.length}`);
  return item;
}
