import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DispatchOutcome, LoadBalancerContextView, LoadBalancerLike, TaskInfo } from "../balancing/index.ts";
import { Call, type CallExtras } from "../connection/call.ts";
import { RemoteFailure } from "../connection/remote-failure.ts";
import type { Session } from "../connection/session.ts";
import type { WorkerLink } from "../connection/worker-link.ts";
import { NoWorkersAvailable, PoolSaturated, RpcError, TransientRpcError, WorkerLost } from "../errors.ts";
import type { Route } from "../routine/route.ts";
import type { Member } from "./member.ts";
import { Scheduler } from "./scheduler.ts";

const BUSY = new TransientRpcError("busy", 8);
const NONSENSE = new RpcError("nonsense", 13);
const THREAD_ENDED = new RpcError("the task thread ended", 10);
const ROUTE = { name: "add" } as Route;

/** A task thread that takes as many calls as it has room for. */
class FakeSession {
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
      expect(call.state).toBe("waiting");
      call.state = "sent";
      call.session = this as unknown as Session;
    }
  }

  /** The worker has said its last word on a call. */
  over(call: Call): void {
    this.inFlight--;
    this.window.room++;
    call.state = "ended";
    call.session = undefined;
  }
}

class FakeLink {
  state: "idle" | "connecting" | "ready" = "idle";
  sharesFiles = false;
  sessions: FakeSession[] = [];
  connects = 0;
  readonly #prepared: FakeSession[];
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(rooms: readonly number[]) {
    this.#prepared = rooms.map((room) => new FakeSession(room));
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

interface FakeMember extends Member {
  readonly fake: FakeLink;
  readonly session: FakeSession;
}

/** A worker with a task thread for each of `rooms`. */
function makeMember(uid: string, rooms: readonly number[], state: "idle" | "ready" = "ready"): FakeMember {
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
    roomiest: () => fake.sessions.find((session) => session.window.room > 0),
  } as unknown as FakeMember;
}

const ended = new Map<Call, unknown>();
beforeEach(() => ended.clear());
afterEach(() => {
  vi.useRealTimers();
});

function makeCall(scheduler: Scheduler, extras?: CallExtras): Call {
  const call = new Call(ROUTE, scheduler, undefined, extras, new Uint8Array(0), 0, 0);
  call.resolve = (value) => ended.set(call, value);
  call.reject = (failure) => ended.set(call, failure instanceof RemoteFailure ? failure.error : failure);
  return call;
}

/** A scheduler that hands out, with these workers. */
function makeScheduler(members: readonly Member[], options: { maxPending?: number; balancer?: LoadBalancerLike } = {}) {
  const evicted: string[] = [];
  const scheduler: Scheduler = new Scheduler({
    maxPending: options.maxPending ?? Number.POSITIVE_INFINITY,
    evict: (member) => {
      evicted.push(member.uid);
      scheduler.remove(member);
    },
  });
  if (options.balancer !== undefined) scheduler.balancer = options.balancer;
  for (const member of members) scheduler.add(member);
  scheduler.open();
  const submit = (count: number, extras?: CallExtras): Call[] =>
    Array.from({ length: count }, () => {
      const call = makeCall(scheduler, extras);
      scheduler.submit(call);
      return call;
    });
  return { scheduler, evicted, submit };
}

/** Lets everything happen that is due. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn();
}

/** Says of a call what its worker says. */
function refuse(scheduler: Scheduler, { session }: FakeMember, call: Call, error: Error): void {
  session.over(call);
  call.state = "waiting";
  scheduler.rejected(call, error);
}

function lose(scheduler: Scheduler, { session }: FakeMember, call: Call): void {
  session.over(call);
  scheduler.lost(call, new WorkerLost("worker gone"));
}

/** Calls by number: shown whole they fill pages. */
const numbers = (calls: readonly (Call | undefined)[]) => calls.map((call) => call?.sequence);

const named = (delegate: LoadBalancerLike["delegate"]): LoadBalancerLike => ({ delegate });

describe("waiting calls", () => {
  it("are kept until the scheduler is opened", async () => {
    const worker = makeMember("a", [5]);
    const scheduler = new Scheduler({ maxPending: 9, evict: () => undefined });
    scheduler.add(worker);
    scheduler.submit(makeCall(scheduler));
    await settle();
    expect([worker.session.calls.length, scheduler.queued]).toEqual([0, 1]);
    scheduler.open();
    expect([worker.session.calls.length, scheduler.queued]).toEqual([1, 0]);
  });

  it("of one turn go out together", async () => {
    const worker = makeMember("a", [10]);
    const { submit } = makeScheduler([worker]);
    const calls = submit(4);
    expect(worker.session.runs).toEqual([]);
    await settle();
    expect(worker.session.runs.map(numbers)).toEqual([numbers(calls)]);
    expect(calls[0]).toMatchObject({ worker: "a", tally: worker.tally });
  });

  it("are spread over the threads with room, evenly, one run for each", async () => {
    const [a, b] = [makeMember("a", [10, 10]), makeMember("b", [1])];
    const { submit } = makeScheduler([a, b]);
    submit(7);
    await settle();
    const runs = [...a.fake.sessions, ...b.fake.sessions].map((session) => session.runs.map((run) => run.length));
    expect(runs).toEqual([[3], [3], [1]]);
  });

  it("go out in the order in which they were made, whatever is withdrawn and whenever there is room", async () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("submit" as const), n: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant("withdraw" as const), n: fc.nat() }),
      fc.record({ kind: fc.constant("answer" as const), n: fc.nat(3) }),
      fc.record({ kind: fc.constant("turn" as const), n: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 25 }), fc.integer({ min: 1, max: 3 }), async (actions, room) => {
        const worker = makeMember("a", [room]);
        const { scheduler, submit } = makeScheduler([worker]);
        const wanted: Call[] = [];
        const { session } = worker;
        for (const { kind, n } of actions) {
          const waiting = wanted.filter((call) => call.state === "waiting");
          if (kind === "submit") wanted.push(...submit(n));
          else if (kind === "turn") await settle();
          else if (kind === "answer") {
            for (const call of session.calls.filter(({ state }) => state === "sent").slice(0, n)) session.over(call);
            scheduler.progressed();
          } else {
            const call = waiting[n % Math.max(1, waiting.length)];
            if (call === undefined) continue;
            scheduler.withdraw(call);
            wanted.splice(wanted.indexOf(call), 1);
          }
          expect(scheduler.queued).toBe(wanted.filter((call) => call.state === "waiting").length);
          expect(session.inFlight).toBeLessThanOrEqual(room);
        }
        for (await settle(); session.inFlight > 0; scheduler.progressed()) {
          for (const call of session.calls.filter(({ state }) => state === "sent")) session.over(call);
        }
        expect(numbers(session.calls)).toEqual(numbers(wanted));
        expect(scheduler.queued).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it("of a caller that waits for each answer stay with one worker after a while, if it can take them", async () => {
    const workers = [makeMember("a", [1]), makeMember("b", [1])] as const;
    const { submit } = makeScheduler(workers);
    const serial = async (): Promise<FakeMember> => {
      const [call] = submit(1);
      await turn();
      const taker = workers.find(({ uid }) => uid === call?.worker);
      if (call === undefined || taker === undefined) throw new Error("nobody took the call");
      taker.session.over(call);
      return taker;
    };
    const first: string[] = [];
    for (let i = 0; i < 10; i++) first.push((await serial()).uid);
    expect(first).toEqual(first.map((_, i) => (i % 2 === 0 ? "a" : "b")));
    for (let i = 0; i < 100; i++) await serial();
    const favourite = await serial();
    for (let i = 0; i < 10; i++) expect(await serial()).toBe(favourite);
    favourite.session.window.room = 0;
    expect(await serial()).not.toBe(favourite);
    favourite.session.window.room = 1;
    const seen = new Set<FakeMember>();
    for (let i = 0; i < 1100; i++) seen.add(await serial());
    expect(seen.size).toBe(2);
  });

  it("are no more than maxPending, unless there is room", async () => {
    const worker = makeMember("a", [1]);
    const { scheduler, submit } = makeScheduler([worker], { maxPending: 2 });
    submit(2);
    submit(1);
    await settle();
    expect(scheduler.queued).toBe(2);
    const error = (() => {
      try {
        submit(1);
      } catch (thrown) {
        return thrown;
      }
      return undefined;
    })();
    expect(error).toBeInstanceOf(PoolSaturated);
    expect(String(error)).toMatch(/2 calls wait for a worker and maxPending is 2.*pool\.map/);
  });

  it("fail together when nobody is known, with that", async () => {
    const { submit } = makeScheduler([]);
    const calls = submit(2);
    await settle();
    for (const call of calls) {
      expect(ended.get(call)).toBeInstanceOf(NoWorkersAvailable);
      expect(String(ended.get(call))).toContain("no workers are known");
    }
  });

  it("fail when the last worker leaves, and those that were withdrawn stay silent", async () => {
    const worker = makeMember("a", [0]);
    const { scheduler, submit } = makeScheduler([worker]);
    const [first, second] = submit(2);
    if (first === undefined || second === undefined) throw new Error("no calls");
    await settle();
    scheduler.withdraw(first);
    worker.tally.done = 3;
    scheduler.remove(worker);
    expect(ended.has(first)).toBe(false);
    expect(ended.get(second)).toBeInstanceOf(NoWorkersAvailable);
    expect([scheduler.queued, scheduler.departed]).toEqual([0, { done: 3, failed: 0 }]);
  });
});

describe("workers that are not connected", () => {
  it("are connected to by the first call, and get it when they are", async () => {
    const worker = makeMember("a", [5], "idle");
    const { scheduler, submit } = makeScheduler([worker]);
    submit(1);
    await settle();
    expect(worker.fake.connects).toBe(1);
    worker.fake.ready();
    scheduler.progressed();
    expect(worker.session.calls).toHaveLength(1);
  });

  it("none of which can be reached fail the calls with what each one said", async () => {
    const [a, b] = [makeMember("a", [5], "idle"), makeMember("b", [5], "idle")];
    const { submit } = makeScheduler([a, b]);
    const [call] = submit(1);
    await settle();
    a.fake.fail(new TransientRpcError("a refused", 14));
    await settle();
    expect(ended.size).toBe(0);
    b.fake.fail(new TransientRpcError("b refused", 14));
    await settle();
    const error = call === undefined ? undefined : ended.get(call);
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect((error as NoWorkersAvailable).errors.map(({ message }) => message)).toEqual(["a refused", "b refused"]);
    expect(String(error)).toMatch(/a refused[^]*b refused/);
  });

  it("are left alone for a while after a failure, while others can be reached", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9], "idle")];
    const { scheduler, submit } = makeScheduler([a, b]);
    submit(1);
    await settle();
    b.fake.fail(BUSY);
    await settle();
    submit(1);
    await settle();
    expect(b.fake.connects).toBe(1);
    vi.advanceTimersByTime(1001);
    submit(1);
    await settle();
    expect(b.fake.connects).toBe(2);
    expect(scheduler.queued).toBe(0);
  });

  it("that can never be used leave for good", async () => {
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9], "idle")];
    const { evicted, submit } = makeScheduler([a, b]);
    submit(1);
    await settle();
    b.fake.fail(NONSENSE);
    await settle();
    expect(evicted).toEqual(["b"]);
  });
});

describe("a call that a worker refuses", () => {
  it("goes to one that has not refused it", async () => {
    const [a, b] = [makeMember("a", [1]), makeMember("b", [0])];
    const { scheduler, submit, evicted } = makeScheduler([a, b]);
    const [call] = submit(1);
    if (call === undefined) throw new Error("no call");
    await settle();
    refuse(scheduler, a, call, BUSY);
    await settle();
    expect([a.session.calls.length, scheduler.queued, evicted]).toEqual([1, 1, []]);
    b.session.window.room = 1;
    scheduler.progressed();
    expect(numbers(b.session.calls)).toEqual(numbers([call]));
    expect(call.worker).toBe("b");
  });

  it("fails when all have, with what each one said; whoever spoke nonsense leaves", async () => {
    const [a, b] = [makeMember("a", [1]), makeMember("b", [1])];
    const { scheduler, submit, evicted } = makeScheduler([a, b]);
    const [call] = submit(1);
    if (call === undefined) throw new Error("no call");
    await settle();
    refuse(scheduler, a, call, NONSENSE);
    await settle();
    refuse(scheduler, b, call, BUSY);
    await settle();
    const error = ended.get(call);
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect((error as NoWorkersAvailable).errors).toEqual([NONSENSE, BUSY]);
    expect(evicted).toEqual(["a"]);
    expect(scheduler.queued).toBe(0);
  });

  it("goes to the same one again when only the thread that it was for has ended", async () => {
    const a = makeMember("a", [2]);
    const { scheduler, submit, evicted } = makeScheduler([a]);
    const [call] = submit(1);
    if (call === undefined) throw new Error("no call");
    await settle();
    refuse(scheduler, a, call, THREAD_ENDED);
    await settle();
    expect(evicted).toEqual([]);
    expect(ended.has(call)).toBe(false);
    expect(numbers(a.session.calls)).toEqual(numbers([call, call]));
  });

  it("can be withdrawn while it waits for another", async () => {
    const [a, b] = [makeMember("a", [1]), makeMember("b", [0])];
    const { scheduler, submit } = makeScheduler([a, b]);
    const [call] = submit(1);
    if (call === undefined) throw new Error("no call");
    await settle();
    refuse(scheduler, a, call, BUSY);
    await settle();
    scheduler.withdraw(call);
    expect(scheduler.queued).toBe(0);
    b.session.window.room = 1;
    scheduler.progressed();
    expect(numbers(b.session.calls)).toEqual([]);
  });

  it("does not wait for ever for one that cannot be reached", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9], "idle")];
    const { scheduler, submit } = makeScheduler([a, b]);
    submit(1);
    await settle();
    b.fake.fail(BUSY);
    await settle();
    const [call] = submit(1);
    if (call === undefined) throw new Error("no call");
    await settle();
    refuse(scheduler, a, call, BUSY);
    for (let i = 0; i < 20; i++) {
      await vi.advanceTimersByTimeAsync(1000);
      await settle();
      if (b.fake.state === "connecting") b.fake.fail(BUSY);
    }
    expect(ended.get(call)).toBeInstanceOf(NoWorkersAvailable);
  });
});

describe("a call whose worker is lost", () => {
  it("fails and says that it may have run", async () => {
    const worker = makeMember("a", [1]);
    const { scheduler, submit } = makeScheduler([worker]);
    const [call] = submit(1);
    if (call === undefined) throw new Error("no call");
    await settle();
    lose(scheduler, worker, call);
    expect(ended.get(call)).toBeInstanceOf(WorkerLost);
    expect(String(ended.get(call))).toMatch(/add had been handed to it and may or may not have run.*idempotent/);
    expect(worker.tally.failed).toBe(1);
  });

  it("is tried once more elsewhere if it is idempotent, and once only", async () => {
    const workers = [makeMember("a", [1]), makeMember("b", [1]), makeMember("c", [1])] as const;
    const { scheduler, submit } = makeScheduler(workers);
    const [call] = submit(1, { idempotent: true });
    if (call === undefined) throw new Error("no call");
    await settle();
    lose(scheduler, workers[0], call);
    await settle();
    expect([ended.size, call.worker, call.state]).toEqual([0, "b", "sent"]);
    lose(scheduler, workers[1], call);
    await settle();
    expect(ended.get(call)).toBeInstanceOf(WorkerLost);
    expect(numbers(workers[2].session.calls)).toEqual([]);
  });

  it("is tried once more also when another had refused it before", async () => {
    const workers = [makeMember("a", [1]), makeMember("b", [1]), makeMember("c", [1])] as const;
    const { scheduler, submit } = makeScheduler(workers);
    const [call] = submit(1, { idempotent: true });
    if (call === undefined) throw new Error("no call");
    await settle();
    refuse(scheduler, workers[0], call, BUSY);
    await settle();
    lose(scheduler, workers[1], call);
    await settle();
    expect([call.worker, call.state]).toEqual(["c", "sent"]);
  });
});

describe("a balancer of one's own", () => {
  it("is told what it needs, and decides", async () => {
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9])];
    const asked: { task: TaskInfo; workers: string[]; load: number }[] = [];
    const balancer = named((task, context) => {
      asked.push({ task, workers: [...context.workers.keys()], load: context.load("b") });
      return [task.key ?? "a"];
    });
    const { submit } = makeScheduler([a, b], { balancer });
    const calls = [...submit(2, { key: "b" }), ...submit(1)];
    await settle();
    expect(numbers(b.session.calls)).toEqual(numbers(calls.slice(0, 2)));
    expect(numbers(a.session.calls)).toEqual(numbers(calls.slice(2)));
    expect(asked.map(({ load }) => load)).toEqual([0, 1, 2]);
    expect(asked[0]).toMatchObject({
      task: { sequence: calls[0]?.sequence, name: "add", key: "b" },
      workers: ["a", "b"],
    });
  });

  it("may be asynchronous, offer workers that are not there, and be passed over one without room", async () => {
    const [a, b] = [makeMember("a", [0]), makeMember("b", [9])];
    const balancer = named(async function* () {
      yield "ghost";
      await turn();
      yield "a";
      yield "b";
    });
    const { submit } = makeScheduler([a, b], { balancer });
    const calls = submit(2);
    while (b.session.calls.length < 2) await turn();
    expect(numbers(b.session.calls)).toEqual(numbers(calls));
  });

  it("is not asked on after it was followed", async () => {
    const yielded: string[] = [];
    const balancer = named(function* (_task: TaskInfo, { workers }: LoadBalancerContextView) {
      for (const uid of workers.keys()) {
        yielded.push(uid);
        yield uid;
      }
    });
    const { submit } = makeScheduler([makeMember("a", [9]), makeMember("b", [9])], { balancer });
    submit(1);
    await settle();
    expect(yielded).toEqual(["a"]);
  });

  it.each([
    [
      "throws",
      named(() => {
        throw new RangeError("no idea");
      }),
    ],
    [
      "throws on the way",
      named(function* () {
        yield "ghost";
        throw new RangeError("no idea");
      }),
    ],
    [
      "rejects",
      named(async function* () {
        await turn();
        throw new RangeError("no idea");
      }),
    ],
  ])("that %s fails the call, and not the pool", async (_what, broken) => {
    const worker = makeMember("a", [9]);
    const { scheduler, submit } = makeScheduler([worker], { balancer: broken });
    const calls = submit(2);
    while (ended.size < 2) await turn();
    for (const call of calls) expect(ended.get(call)).toEqual(new RangeError("no idea"));
    scheduler.balancer = named(() => ["a"]);
    submit(1);
    await settle();
    expect(worker.session.calls).toHaveLength(1);
  });

  it("that offers nobody with room is asked again when there is", async () => {
    const worker = makeMember("a", [0]);
    const { scheduler, submit } = makeScheduler([worker], { balancer: named(() => ["a"]) });
    const calls = submit(2);
    await settle();
    expect(scheduler.queued).toBe(2);
    worker.session.window.room = 5;
    scheduler.progressed();
    await settle();
    expect(numbers(worker.session.calls)).toEqual(numbers(calls));
  });

  it("whose choice is being connected to is waited for", async () => {
    const [a, b] = [makeMember("a", [9], "idle"), makeMember("b", [9])];
    const { scheduler, submit } = makeScheduler([a, b], { balancer: named(() => ["a", "b"]) });
    submit(1);
    await settle();
    expect(numbers(b.session.calls)).toEqual([]);
    a.fake.ready();
    scheduler.progressed();
    await settle();
    expect(a.session.calls).toHaveLength(1);
  });

  it("that thinks about one call does not make those behind it wait for an answer to that", async () => {
    const worker = makeMember("a", [9]);
    let decide: () => void = () => undefined;
    const thinking = new Promise<void>((resolve) => {
      decide = resolve;
    });
    const balancer = named(async function* (task) {
      if (task.key === "slow") await thinking;
      yield "a";
    });
    const { submit } = makeScheduler([worker], { balancer });
    const [slow] = submit(1, { key: "slow" });
    await settle();
    const [late] = submit(1);
    await settle();
    decide();
    await settle();
    expect(numbers(worker.session.calls)).toEqual(numbers([slow, late]));
  });

  it("that thinks about a call which is withdrawn meanwhile keeps the count right", async () => {
    const worker = makeMember("a", [9]);
    let decide: () => void = () => undefined;
    const thinking = new Promise<void>((resolve) => {
      decide = resolve;
    });
    const balancer = named(async function* () {
      await thinking;
      yield "a";
    });
    const { scheduler, submit } = makeScheduler([worker], { balancer });
    const [call] = submit(1);
    if (call === undefined) throw new Error("no call");
    await settle();
    expect(scheduler.queued).toBe(1);
    scheduler.withdraw(call);
    expect(scheduler.queued).toBe(0);
    decide();
    await settle();
    expect([scheduler.queued, worker.session.calls.length]).toEqual([0, 0]);
  });

  it("hears what became of each call, once", async () => {
    const worker = makeMember("a", [9]);
    const heard: string[] = [];
    const balancer: LoadBalancerLike = {
      delegate: () => ["a"],
      settled: (uid: string, { status }: DispatchOutcome) => void heard.push(`${uid} ${status}`),
    };
    const { scheduler, submit } = makeScheduler([worker], { balancer });
    const [done, failed, rejected, lost] = submit(4);
    if (done === undefined || failed === undefined || rejected === undefined || lost === undefined) {
      throw new Error("no calls");
    }
    await settle();
    for (const call of [done, failed]) worker.session.over(call);
    done.resolve(1);
    failed.reject(new RemoteFailure(new Error("x")));
    lose(scheduler, worker, lost);
    expect(heard).toEqual(["a done", "a failed", "a lost"]);
    refuse(scheduler, worker, rejected, BUSY);
    await settle();
    expect(heard).toEqual(["a done", "a failed", "a lost", "a rejected"]);
    expect(ended.get(rejected)).toBeInstanceOf(NoWorkersAvailable);
  });
});
