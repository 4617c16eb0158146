import { setImmediate as turn } from "node:timers/promises";
import { Call, type CallExtras } from "../../src/call/call.ts";
import { RemoteFailure } from "../../src/call/remote-failure.ts";
import type { Session } from "../../src/connection/session.ts";
import type { WorkerLink } from "../../src/connection/worker-link.ts";
import { WorkerLost } from "../../src/errors.ts";
import type { Member } from "../../src/proxy/members/member.ts";
import { Scheduler } from "../../src/proxy/scheduling/scheduler.ts";
import type { Route } from "../../src/routine/route.ts";
import { Payload } from "../../src/wire/payload.ts";

export const ROUTE = { name: "add" } as Route;

/** A task thread that takes as many calls as it has room for. */
export class FakeSession {
  readonly cancelled: Call[] = [];
  readonly window: { room: number };
  readonly runs: Call[][] = [];
  inFlight = 0;
  isOpen = true;

  constructor(room: number) {
    this.window = { room };
  }

  get calls(): Call[] {
    return this.runs.flat();
  }

  send(calls: readonly Call[], from: number, to: number): void {
    const run = calls.slice(from, to);
    this.runs.push(run);
    this.inFlight += run.length;
    this.window.room -= run.length;
    for (const call of run) {
      call.state = "sent";
      call.session = this as unknown as Session;
    }
  }

  cancel(call: Call): void {
    this.cancelled.push(call);
    call.state = "abandoned";
  }

  callsOf(tally: unknown): Call[] {
    return this.calls.filter(
      (call) => call.session !== undefined && call.state !== "abandoned" && call.tally === tally,
    );
  }

  /** The worker has said its last word on a call. */
  over(call: Call): void {
    this.inFlight--;
    this.window.room++;
    call.state = "ended";
    call.session = undefined;
  }
}

export class FakeLink {
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

/** A worker of a pool that does what a test says. */
export interface FakeMember extends Member {
  readonly fake: FakeLink;
  readonly session: FakeSession;
}

/** A worker with a task thread for each of `rooms`. */
export function makeMember(uid: string, rooms: readonly number[], state: "idle" | "ready" = "ready"): FakeMember {
  const fake = new FakeLink(rooms);
  if (state === "ready") fake.ready();
  return {
    uid,
    metadata: { uid },
    fake,
    link: fake as unknown as WorkerLink,
    tally: { done: 0, failed: 0 },
    failure: undefined,
    retryAt: 0,
    get session() {
      const [session] = fake.sessions;
      if (session === undefined) throw new Error(`${uid} is not connected`);
      return session;
    },
    roomiest: () =>
      fake.sessions.filter(({ window }) => window.room > 0).sort((one, other) => one.inFlight - other.inFlight)[0],
  } as unknown as FakeMember;
}

/** What became of calls. */
export const ended = new Map<Call, unknown>();

/** A call that notes in `ended` what became of it. */
export function makeCall(scheduler: Scheduler, extras?: CallExtras): Call {
  const call = new Call(ROUTE, scheduler, undefined, extras, Payload.EMPTY);
  call.resolve = (value) => ended.set(call, value);
  call.reject = (failure) => ended.set(call, failure instanceof RemoteFailure ? failure.error : failure);
  return call;
}

/** A scheduler that hands out, with these workers. */
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

/** Lets everything happen that is due. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn();
}

/** The worker refuses a call. */
export function refuse(scheduler: Scheduler, { session }: FakeMember, call: Call, error: Error): void {
  session.over(call);
  call.state = "waiting";
  scheduler.rejected(call, error);
}

/** The worker is lost with a call. */
export function lose(scheduler: Scheduler, { session }: FakeMember, call: Call): void {
  session.over(call);
  scheduler.lost(call, new WorkerLost("worker gone"));
}

/** Calls by number: shown whole they fill pages. */
export const numbers = (calls: readonly (Call | undefined)[]) => calls.map((call) => call?.sequence);

/** The one thing that there is. */
export function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) throw new Error(`one was wanted, there are ${items.length}`);
  return item;
}
