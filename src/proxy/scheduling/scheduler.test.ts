import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  ended,
  FakeMember,
  lose,
  makeCall,
  makeMember,
  makeScheduler,
  numbers,
  only,
  ROUTE,
  refuse,
  settle,
  workerOf,
} from "../../../test/support/fake-workers.ts";
import { LeastLoadedLoadBalancer, RoundRobinLoadBalancer } from "../../balancing/index.ts";
import type { Call } from "../../call/call.ts";
import { limitCall } from "../../call/call-limits.ts";
import { NoWorkersAvailable, PoolSaturated, RpcError, TransientRpcError, WorkerLost } from "../../errors.ts";
import { Scheduler } from "./scheduler.ts";

const BUSY = new TransientRpcError("busy", 8);
const NONSENSE = new RpcError("nonsense", 13);
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
const THREAD_ENDED = new RpcError("the task thread ended", 10);

/** The worker reports the end of every call that it was sent. */
function answerAll({ session }: FakeMember): void {
  for (const call of session.runs.splice(0).flat()) session.over(call);
}

beforeEach(() => ended.clear());
afterEach(() => {
  vi.useRealTimers();
});

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

  it("keep the program alive while no worker has calls, until they are handed out, withdrawn or failed", async () => {
    // Only the timers of this test: the test runner has timers too.
    const intervals = new Set<unknown>();
    const { setInterval: set, clearInterval: clear } = globalThis;
    vi.spyOn(globalThis, "setInterval").mockImplementation((...args) => {
      const interval = set(...args);
      intervals.add(interval);
      return interval;
    });
    vi.spyOn(globalThis, "clearInterval").mockImplementation((interval) => {
      intervals.delete(interval);
      clear(interval);
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const timers = (): number => intervals.size;
    const before = timers();
    const worker = makeMember("a", [1]);
    const scheduler = new Scheduler({ maxPending: 9, evict: () => undefined });
    const [first, second, third] = [makeCall(scheduler), makeCall(scheduler), makeCall(scheduler)];
    scheduler.submit(first);
    await settle();
    expect(timers()).toBe(before + 1);
    first.cancel("withdrawn");
    expect(timers()).toBe(before);
    scheduler.submit(second);
    await settle();
    scheduler.add(worker);
    scheduler.open();
    expect([worker.session.calls.length, timers()]).toEqual([1, before]);
    worker.session.over(second);
    worker.session.room = 0;
    scheduler.submit(third);
    await settle();
    expect(timers()).toBe(before + 1);
    scheduler.failAll(new Error("closed"));
    expect(timers()).toBe(before);
  });

  it("of one turn go out together", async () => {
    const worker = makeMember("a", [10]);
    const { submit } = makeScheduler([worker]);
    const calls = submit(4);
    expect(worker.session.runs).toEqual([]);
    await settle();
    expect(worker.session.runs.map(numbers)).toEqual([numbers(calls)]);
    expect(calls[0]).toMatchObject({ recipient: worker });
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
            call.cancel("withdrawn");
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

  it.each([
    ["one that levels", new LeastLoadedLoadBalancer()],
    ["one that is asked", new RoundRobinLoadBalancer()],
  ])("are forgotten when they have been handed out, although others wait (%s)", async (_name, balancer) => {
    const worker = makeMember("a", [2]);
    const { scheduler, submit } = makeScheduler([worker], { balancer });
    const calls = submit(6).map((call) => new WeakRef(call));
    await settle();
    answerAll(worker);
    await settle();
    collectGarbage();
    expect(calls.map((call) => call.deref() === undefined)).toEqual([true, true, false, false, false, false]);
    expect(scheduler.queued).toBe(4);
  });

  it("of a caller that waits for each answer stay with one worker after a while, if it can take them", async () => {
    const workers = [makeMember("a", [1]), makeMember("b", [1])] as const;
    const { submit } = makeScheduler(workers);
    const serial = async (): Promise<FakeMember> => {
      const [call] = submit(1);
      await turn();
      const taker = workers.find(({ uid }) => uid === call?.recipient?.uid);
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
    favourite.session.room = 0;
    expect(await serial()).not.toBe(favourite);
    favourite.session.room = 1;
    const seen = new Set<FakeMember>();
    for (let i = 0; i < 1100; i++) seen.add(await serial());
    expect(seen.size).toBe(2);
  });

  it.each([
    ["alone", 2, 0],
    ["beside one at each worker", 2, 2000],
    ["when nobody has room", 1, 2000],
  ])("cost the same however many workers there are: %s", async (_how, room, before) => {
    let looks = 0;
    const workers = Array.from({ length: 2000 }, (_, i) => makeMember(`w-${i}`, [room]));
    for (const { fake } of workers) {
      const { sessions } = fake;
      Object.defineProperty(fake, "sessions", { get: () => (looks++, sessions) });
      Object.defineProperty(fake, "state", { get: () => (looks++, "ready") });
    }
    const { scheduler, submit } = makeScheduler(workers);
    const running = submit(before);
    await settle();
    // Distributing looks at every member once and finds none with room.
    running.push(...submit(1));
    await settle();
    looks = 0;
    for (let i = 0; i < 10; i++) {
      running.push(...submit(1));
      await settle();
      const call = running.shift();
      const taker = workers.find(({ uid }) => uid === call?.recipient?.uid);
      if (call === undefined || taker === undefined) throw new Error("nobody took the call");
      taker.session.over(call);
      call.fail(new Error("ended"));
      scheduler.progressed(taker.link);
    }
    expect(looks).toBeLessThan(10 * 500);
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
    first.cancel("withdrawn");
    worker.tally.done = 3;
    scheduler.remove(worker);
    expect(ended.get(first)).toBe("withdrawn");
    expect(ended.get(second)).toBeInstanceOf(NoWorkersAvailable);
    expect([scheduler.queued, scheduler.departed]).toEqual([0, { inFlight: 0, done: 3, failed: 0 }]);
  });
});

describe("a worker that leaves", () => {
  it("has its calls counted, also those that end later", async () => {
    const [leaver, next] = [makeMember("a", [1]), makeMember("b", [0])];
    const { scheduler, submit } = makeScheduler([leaver, next]);
    const call = only(submit(1));
    await settle();
    leaver.tally.done = 2;
    scheduler.remove(leaver);
    expect(scheduler.departed).toEqual({ inFlight: 1, done: 2, failed: 0 });
    leaver.tally.done++;
    leaver.session.over(call);
    expect(scheduler.departed).toEqual({ inFlight: 0, done: 3, failed: 0 });
    next.tally.failed = 1;
    scheduler.remove(next);
    expect(scheduler.departed).toEqual({ inFlight: 0, done: 3, failed: 1 });
  });
});

describe("a scheduler that is closed", () => {
  it("fails the calls that wait, and those that workers give back", async () => {
    const worker = makeMember("a", [1]);
    const { scheduler, submit } = makeScheduler([worker]);
    const [handed, waiting] = submit(2);
    if (handed === undefined || waiting === undefined) throw new Error("no calls");
    await settle();
    const error = new RangeError("no more");
    scheduler.close(error);
    expect([ended.get(handed), ended.get(waiting)]).toEqual([undefined, error]);
    refuse(worker, handed, BUSY);
    await settle();
    expect(ended.get(handed)).toBe(error);
  });

  it("is busy while calls wait, or are at workers, members or not any more; and cancels them", async () => {
    const [worker, leaver] = [makeMember("a", [1]), makeMember("b", [1])];
    const { scheduler, submit } = makeScheduler([worker, leaver]);
    expect(scheduler.calls.size).toBe(0);
    const calls = submit(2);
    await settle();
    const { session } = leaver;
    const [left] = session.calls;
    scheduler.remove(leaver);
    expect(scheduler.calls.size).toBe(2);
    scheduler.cancelAll((name) => new RangeError(`no more ${name}`));
    for (const call of calls) expect(ended.get(call)).toEqual(new RangeError(`no more ${ROUTE.name}`));
    expect(session.cancelled).toEqual([left]);
    expect(scheduler.calls.size).toBe(0);
  });

  it("leaves the calls of others at the same worker alone", async () => {
    const worker = makeMember("a", [5]);
    const other = makeScheduler([new FakeMember("a", worker.fake)]);
    const { scheduler } = makeScheduler([worker]);
    const [call] = other.submit(1);
    await settle();
    expect([scheduler.calls.size, other.scheduler.calls.size]).toEqual([0, 1]);
    scheduler.cancelAll(() => new RangeError("no more"));
    expect(ended.has(call as Call)).toBe(false);
  });
});

describe("workers that are expected back", () => {
  it("are waited for, and get the calls when they are", async () => {
    const worker = makeMember("a", [5]);
    const { scheduler, submit } = makeScheduler([worker]);
    scheduler.returning.expect("a");
    scheduler.remove(worker);
    const calls = submit(2);
    await settle();
    expect([scheduler.queued, ended.size]).toEqual([2, 0]);
    const again = makeMember("a", [5]);
    scheduler.add(again);
    await settle();
    expect(again.session.calls).toEqual(calls);
  });

  it("are waited for a moment from when the connection is lost, until it is known that they will be back", async () => {
    vi.useFakeTimers();
    const worker = makeMember("a", [5], "idle");
    const { submit } = makeScheduler([worker], { returns: () => true });
    const [call] = submit(1);
    await vi.advanceTimersByTimeAsync(0);
    worker.fake.fail(new TransientRpcError("connection refused", 14));
    await vi.advanceTimersByTimeAsync(1999);
    expect(ended.size).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended.get(call as Call)).toBeInstanceOf(NoWorkersAvailable);
  });

  it("are waited for also when they are back under the same address", async () => {
    const worker = makeMember("a", [5], "idle");
    const { scheduler, submit } = makeScheduler([worker]);
    scheduler.returning.expect("a");
    const [call] = submit(1);
    await settle();
    worker.fake.fail(new TransientRpcError("connection refused", 14));
    await settle();
    expect([worker.fake.connects, scheduler.queued]).toEqual([1, 1]);
    scheduler.update(worker);
    expect(worker.fake.connects).toBe(2);
    worker.fake.ready();
    scheduler.progressed();
    expect(numbers(worker.session.calls)).toEqual(numbers([call]));
  });

  it.each([
    ["one that levels", new LeastLoadedLoadBalancer()],
    ["one that is asked", new RoundRobinLoadBalancer()],
  ])("are waited for without trying others that cannot be reached again and again (%s)", async (_what, balancer) => {
    const [away, other] = [makeMember("a", [1]), makeMember("b", [5], "idle")];
    const { scheduler, submit } = makeScheduler([away, other], { balancer });
    const call = only(submit(1, { idempotent: true }));
    await settle();
    scheduler.returning.expect("a");
    if (away.session.has(call)) lose(away, call);
    scheduler.remove(away);
    for (let i = 0; i < 20; i++) {
      if (other.fake.state === "connecting") other.fake.fail(new TransientRpcError("b is away", 14));
      await settle();
    }
    expect([scheduler.queued, ended.size]).toEqual([1, 0]);
    expect(other.fake.connects).toBeLessThan(4);
    const again = makeMember("a", [5]);
    scheduler.add(again);
    await settle();
    expect(numbers(again.session.calls)).toEqual(numbers([call]));
  });

  it("are waited for no longer than they are expected", async () => {
    const worker = makeMember("a", [0]);
    const { scheduler, submit } = makeScheduler([worker]);
    const [call] = submit(1);
    await settle();
    scheduler.returning.expect("a");
    scheduler.remove(worker);
    expect(ended.size).toBe(0);
    scheduler.returning.giveUp("a");
    expect(ended.get(call as Call)).toBeInstanceOf(NoWorkersAvailable);
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

  it("any more are connected to again for the calls that wait", async () => {
    const worker = makeMember("a", [0]);
    const { scheduler, submit } = makeScheduler([worker]);
    const [call] = submit(1);
    await settle();
    scheduler.interrupted(worker.link, new WorkerLost("gone"));
    worker.fake.state = "idle";
    await settle();
    expect(worker.fake.connects).toBe(1);
    worker.fake.fail(new TransientRpcError("still gone", 14));
    await settle();
    expect(String(call === undefined ? "" : ended.get(call))).toMatch(/still gone/);
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
    const call = only(submit(1));
    await settle();
    refuse(a, call, BUSY);
    await settle();
    expect([a.session.calls.length, scheduler.queued, evicted]).toEqual([1, 1, []]);
    b.session.room = 1;
    scheduler.progressed();
    expect(numbers(b.session.calls)).toEqual(numbers([call]));
    expect(workerOf(call)).toBe("b");
  });

  it("fails when all have, with what each one said; whoever spoke nonsense leaves", async () => {
    const [a, b] = [makeMember("a", [1]), makeMember("b", [1])];
    const { scheduler, submit, evicted } = makeScheduler([a, b]);
    const call = only(submit(1));
    await settle();
    refuse(a, call, NONSENSE);
    await settle();
    refuse(b, call, BUSY);
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
    const call = only(submit(1));
    await settle();
    a.session.over(call);
    scheduler.returned(call, THREAD_ENDED);
    await settle();
    expect(evicted).toEqual([]);
    expect(ended.has(call)).toBe(false);
    expect(numbers(a.session.calls)).toEqual(numbers([call, call]));
  });

  it("can be withdrawn while it waits for another", async () => {
    const [a, b] = [makeMember("a", [1]), makeMember("b", [0])];
    const { scheduler, submit } = makeScheduler([a, b]);
    const call = only(submit(1));
    await settle();
    refuse(a, call, BUSY);
    await settle();
    call.cancel("withdrawn");
    expect(scheduler.queued).toBe(0);
    b.session.room = 1;
    scheduler.progressed();
    expect(numbers(b.session.calls)).toEqual([]);
  });

  it("does not wait for ever for one that cannot be reached", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9], "idle")];
    const { submit } = makeScheduler([a, b]);
    submit(1);
    await settle();
    b.fake.fail(BUSY);
    await settle();
    const call = only(submit(1));
    await settle();
    refuse(a, call, BUSY);
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
    const { submit } = makeScheduler([worker]);
    const call = only(submit(1));
    await settle();
    lose(worker, call);
    expect(ended.get(call)).toBeInstanceOf(WorkerLost);
    expect(String(ended.get(call))).toMatch(/add was sent to it and may or may not have run.*idempotent/);
    expect(worker.tally.failed).toBe(1);
  });

  it("is tried once more elsewhere if it is idempotent, and once only", async () => {
    const workers = [makeMember("a", [1]), makeMember("b", [1]), makeMember("c", [1])] as const;
    const { submit } = makeScheduler(workers);
    const call = only(submit(1, { idempotent: true }));
    await settle();
    lose(workers[0], call);
    await settle();
    expect([ended.size, workerOf(call), call.state]).toEqual([0, "b", "sent"]);
    lose(workers[1], call);
    await settle();
    expect(ended.get(call)).toBeInstanceOf(WorkerLost);
    expect(numbers(workers[2].session.calls)).toEqual([]);
  });

  it("is tried once more with the same worker if there is no other and that one is still there", async () => {
    const worker = makeMember("a", [1]);
    const { submit } = makeScheduler([worker]);
    const call = only(submit(1, { idempotent: true }));
    await settle();
    lose(worker, call);
    await settle();
    expect([ended.size, workerOf(call), call.state]).toEqual([0, "a", "sent"]);
    lose(worker, call);
    await settle();
    expect(ended.get(call)).toBeInstanceOf(WorkerLost);
  });

  it("says what became of it when the only worker leaves before it can be tried once more", async () => {
    const worker = makeMember("a", [1]);
    const { scheduler, submit } = makeScheduler([worker]);
    const call = only(submit(1, { idempotent: true }));
    await settle();
    lose(worker, call);
    scheduler.remove(worker);
    await settle();
    const error = ended.get(call);
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect((error as NoWorkersAvailable).errors).toEqual([expect.any(WorkerLost)]);
  });

  it("is tried once more also when another had refused it before", async () => {
    const workers = [makeMember("a", [1]), makeMember("b", [1]), makeMember("c", [1])] as const;
    const { submit } = makeScheduler(workers);
    const call = only(submit(1, { idempotent: true }));
    await settle();
    refuse(workers[0], call, BUSY);
    await settle();
    lose(workers[1], call);
    await settle();
    expect([workerOf(call), call.state]).toEqual(["c", "sent"]);
  });
});

describe("calls that are aborted at once", () => {
  const balancers: [number, string, () => Scheduler["balancer"]][] = [
    [100_000, "one that levels", () => new LeastLoadedLoadBalancer()],
    [100_000, "one that is asked", () => new RoundRobinLoadBalancer()],
    [20_000, "one that dispatches itself", () => ({ dispatch: (task) => task.sendTo("a") })],
  ];

  it.each(balancers)(
    "leave nothing, and the next one goes out at the first opportunity: %i, %s",
    async (count, _what, make) => {
      const worker = makeMember("a", [64]);
      const { session } = worker;
      const { scheduler, submit } = makeScheduler([worker], { balancer: make() });
      const controller = new AbortController();
      submit(count, undefined, (call) => limitCall(call, { signal: controller.signal }));
      await settle();
      expect([session.calls.length, scheduler.queued]).toEqual([64, count - 64]);
      let looks = 0;
      let room = session.room;
      Object.defineProperty(session, "room", {
        get: () => {
          looks++;
          return room;
        },
        set: (value: number) => {
          room = value;
        },
      });
      controller.abort(new Error("enough"));
      // Calls that are about to be aborted are not handed out.
      expect([looks, session.cancelled.length, scheduler.queued, scheduler.calls.size]).toEqual([0, 64, 0, 0]);
      expect(ended.size).toBe(count);
      for (const call of session.cancelled) session.over(call);
      scheduler.progressed(worker.link);
      looks = 0;
      const next = only(submit(1));
      await settle();
      expect(numbers(session.calls.slice(64))).toEqual(numbers([next]));
      expect(looks).toBeLessThan(20);
    },
  );
});
