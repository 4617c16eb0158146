import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ended,
  lose,
  makeMember,
  makeScheduler,
  numbers,
  only,
  refuse,
  settle,
  workerOf,
} from "../../../test/support/fake-workers.ts";
import {
  ConsistentHashLoadBalancer,
  type DispatchOutcome,
  type LoadBalancerContextView,
  type LoadBalancerLike,
  PowerOfTwoLoadBalancer,
  RoundRobinLoadBalancer,
  type TaskInfo,
} from "../../balancing/index.ts";
import type { Call } from "../../call/call.ts";
import { limitCall } from "../../call/call-limits.ts";
import { InvalidArgument, NoWorkersAvailable, RpcError, TaskTimeout, TransientRpcError } from "../../errors.ts";

const BUSY = new TransientRpcError("busy", 8);
const NONSENSE = new RpcError("nonsense", 13);

beforeEach(() => ended.clear());
afterEach(() => {
  vi.useRealTimers();
});

const named = (delegate: LoadBalancerLike["delegate"]): LoadBalancerLike => ({ delegate });

describe("a user's balancer", () => {
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
      task: {
        sequence: calls[0]?.sequence,
        name: "add",
        key: "b",
        needs: [],
        kind: "call",
        caller: undefined,
        bytes: expect.any(Number),
      },
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
    worker.session.room = 5;
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

  it("that thinks about one call holds up no other", async () => {
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
    expect(numbers(worker.session.calls)).toEqual(numbers([late]));
    decide();
    await settle();
    expect(numbers(worker.session.calls)).toEqual(numbers([late, slow]));
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
    call.cancel("withdrawn");
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
    const { submit } = makeScheduler([worker], { balancer });
    const [done, failed, rejected, lost] = submit(4);
    if (done === undefined || failed === undefined || rejected === undefined || lost === undefined) {
      throw new Error("no calls");
    }
    await settle();
    for (const call of [done, failed]) worker.session.over(call);
    done.succeed(1);
    failed.raise(new Error("x"));
    lose(worker, lost);
    expect(heard).toEqual(["a done", "a failed", "a lost"]);
    refuse(worker, rejected, BUSY);
    await settle();
    expect(heard).toEqual(["a done", "a failed", "a lost", "a rejected"]);
    expect(ended.get(rejected)).toBeInstanceOf(NoWorkersAvailable);
  });
});

describe("a call that a worker refuses", () => {
  it("goes to whom the balancer offers next", async () => {
    const workers = ["a", "b", "c"].map((uid) => makeMember(uid, [9]));
    const [a, , c] = workers;
    const { submit } = makeScheduler(workers, { balancer: named(() => ["a", "c", "b"]) });
    const call = only(submit(1));
    await settle();
    if (a === undefined || c === undefined) throw new Error("no workers");
    refuse(a, call, BUSY);
    await settle();
    expect([workerOf(call), c.session.calls.length]).toEqual(["c", 1]);
  });

  it("fails with what each one said when the balancer offers nobody else", async () => {
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9])];
    const { scheduler, submit, evicted } = makeScheduler([a, b], { balancer: named(() => ["a"]) });
    const call = only(submit(1));
    await settle();
    refuse(a, call, BUSY);
    await settle();
    const error = ended.get(call);
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect(String(error)).toMatch(/each one that the load balancer, an object, offered refused it[^]*busy/);
    expect([scheduler.queued, evicted, b.session.calls.length]).toEqual([0, [], 0]);
  });

  it("fails with what it said when the only worker leaves for it", async () => {
    const a = makeMember("a", [9]);
    const { submit, evicted } = makeScheduler([a], { balancer: named(() => ["a"]) });
    const call = only(submit(1));
    await settle();
    refuse(a, call, NONSENSE);
    await settle();
    expect(evicted).toEqual(["a"]);
    expect(ended.get(call)).toMatchObject({ name: "NoWorkersAvailable", errors: [NONSENSE] });
  });
});

describe("a worker that cannot be reached", () => {
  it("is passed over, and not waited for again while it is tried anew", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const [a, b] = [makeMember("a", [9], "idle"), makeMember("b", [9])];
    const { submit } = makeScheduler([a, b], { balancer: named(() => ["a", "b"]) });
    submit(1);
    await settle();
    a.fake.fail(new TransientRpcError("a is away", 14));
    await settle();
    expect(b.session.calls).toHaveLength(1);
    vi.advanceTimersByTime(1001);
    submit(1);
    await settle();
    expect([a.fake.state, b.session.calls.length]).toEqual(["connecting", 2]);
  });

  it("is waited for when the balancer offers nobody else, and fails the call when that is in vain", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const [a, b] = [makeMember("a", [9], "idle"), makeMember("b", [9])];
    const { scheduler, submit } = makeScheduler([a, b], { balancer: named(() => ["a"]) });
    const first = only(submit(1));
    await settle();
    a.fake.fail(new TransientRpcError("a is away", 14));
    await settle();
    expect(String(ended.get(first))).toMatch(/offered refused it or cannot be reached[^]*a is away/);
    vi.advanceTimersByTime(1001);
    const second = only(submit(1));
    await settle();
    expect([ended.has(second), scheduler.queued]).toEqual([false, 1]);
    a.fake.ready();
    scheduler.progressed();
    expect(numbers(a.session.calls)).toEqual(numbers([second]));
  });

  it("gives back the calls that wait for it when it leaves", async () => {
    const [a, b] = [makeMember("a", [9], "idle"), makeMember("b", [9])];
    const { scheduler, submit } = makeScheduler([a, b], { balancer: named(() => ["a", "b"]) });
    const call = only(submit(1));
    await settle();
    expect(scheduler.queued).toBe(1);
    scheduler.remove(a);
    await settle();
    expect([workerOf(call), scheduler.queued]).toEqual(["b", 0]);
  });
});

describe("a task that waits for its worker", () => {
  const waiting: LoadBalancerLike = {
    delegate: (task) => [task.key ?? "a", "a", "b"],
    waits: (task) => task.key !== undefined,
  };

  it("does not go to another that has room, and lets others pass", async () => {
    const [a, b] = [makeMember("a", [1]), makeMember("b", [9])];
    const { scheduler, submit } = makeScheduler([a, b], { balancer: waiting });
    const keyed = submit(3, { key: "a" });
    const free = only(submit(1));
    await settle();
    expect(numbers(a.session.calls)).toEqual(numbers(keyed.slice(0, 1)));
    expect(numbers(b.session.calls)).toEqual(numbers([free]));
    expect([scheduler.queued, scheduler.eligible.all.load("a")]).toEqual([2, 3]);
    a.session.room = 5;
    scheduler.progressed();
    expect(numbers(a.session.calls)).toEqual(numbers(keyed));
    expect(scheduler.queued).toBe(0);
  });

  it("can be withdrawn", async () => {
    const [a, b] = [makeMember("a", [0]), makeMember("b", [9])];
    const { scheduler, submit } = makeScheduler([a, b], { balancer: waiting });
    const [first, second] = submit(2, { key: "a" });
    if (first === undefined || second === undefined) throw new Error("no calls");
    await settle();
    first.cancel("withdrawn");
    expect(scheduler.queued).toBe(1);
    a.session.room = 5;
    scheduler.progressed();
    expect(numbers(a.session.calls)).toEqual(numbers([second]));
  });

  it("goes to the next when its worker leaves or refuses", async () => {
    const [a, b] = [makeMember("a", [1]), makeMember("b", [9])];
    const { scheduler, submit } = makeScheduler([a, b], { balancer: waiting });
    const [first, second] = submit(2, { key: "a" });
    if (first === undefined || second === undefined) throw new Error("no calls");
    await settle();
    refuse(a, first, BUSY);
    a.session.room = 0;
    await settle();
    scheduler.remove(a);
    await settle();
    expect([workerOf(first), workerOf(second)]).toEqual(["b", "b"]);
  });

  it("is handed out evenly to the threads of its worker", async () => {
    const a = makeMember("a", [0, 0]);
    const { scheduler, submit } = makeScheduler([a, makeMember("b", [9])], { balancer: waiting });
    submit(8, { key: "a" });
    await settle();
    for (const session of a.fake.sessions) session.room = 8;
    scheduler.progressed();
    const counts = a.fake.sessions.map((session) => session.calls.length);
    expect(counts.reduce((sum, count) => sum + count)).toBe(8);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });
});

describe("a balancer that does not do its part", () => {
  const cases: [string, LoadBalancerLike, new (...args: never[]) => Error, RegExp][] = [
    ["yields nobody", named(() => []), NoWorkersAvailable, /the load balancer, an object, offered none/],
    ["yields nobody, later", named(async function* () {}), NoWorkersAvailable, /offered none/],
    [
      "yields workers that are not there",
      named(() => ["x", "y", "z", "w"]),
      NoWorkersAvailable,
      /not in the pool: "x", "y", "z" and others/,
    ],
    [
      "yields them for ever",
      named(function* () {
        for (let i = 0; ; i++) yield `ghost ${i}`;
      }),
      NoWorkersAvailable,
      /not in the pool: "ghost 0"/,
    ],
    [
      "yields the same one for ever, asynchronously",
      named(async function* () {
        for (;;) yield "ghost";
      }),
      NoWorkersAvailable,
      /not in the pool: "ghost"/,
    ],
    ["yields numbers", named((() => [5]) as never), InvalidArgument, /offered 5: it must yield worker uids/],
    ["returns nothing", named((() => undefined) as never), InvalidArgument, /returned undefined: it must return an it/],
    ["returns a uid", named((() => "a") as never), InvalidArgument, /returned "a": it must return an iterable/],
    ["returns a promise", named((async () => ["a"]) as never), InvalidArgument, /returned a Promise/],
    [
      "throws what is no error",
      named(() => {
        throw "nothing";
      }),
      InvalidArgument,
      /the load balancer, an object, threw "nothing"/,
    ],
    [
      "cannot say whether a task waits",
      {
        delegate: () => ["a"],
        waits: () => {
          throw new RangeError("no idea");
        },
      },
      RangeError,
      /no idea/,
    ],
  ];

  it.each(cases)("because it %s fails that call alone", async (_what, broken, kind, text) => {
    const worker = makeMember("a", [9]);
    const balancer: LoadBalancerLike = {
      delegate: (task, context) => (task.key === "good" ? ["a"] : broken.delegate(task, context)),
      waits: (task) => task.key !== "good" && broken.waits?.(task) === true,
    };
    const { scheduler, submit } = makeScheduler([worker], { balancer });
    const bad = only(submit(1));
    const good = only(submit(1, { key: "good" }));
    while (!ended.has(bad)) await turn();
    expect(ended.get(bad)).toBeInstanceOf(kind);
    expect(String(ended.get(bad))).toMatch(text);
    expect(numbers(worker.session.calls)).toEqual(numbers([good]));
    expect(scheduler.queued).toBe(0);
  });

  it("because it thinks for ever fails that call after a minute", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const worker = makeMember("a", [9]);
    const balancer = named(async function* (task) {
      if (task.key === "hard") await new Promise<never>(() => undefined);
      yield "a";
    });
    const { scheduler, submit } = makeScheduler([worker], { balancer });
    const hard = only(submit(1, { key: "hard" }));
    const easy = only(submit(1));
    await settle();
    expect(numbers(worker.session.calls)).toEqual(numbers([easy]));
    expect([scheduler.queued, ended.size]).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(60_001);
    expect(ended.get(hard)).toBeInstanceOf(TaskTimeout);
    expect(String(ended.get(hard))).toMatch(/thought about add for more than 60000 ms/);
    expect([scheduler.queued, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("because it fails after it was followed changes nothing", async () => {
    const worker = makeMember("a", [9]);
    const leaving: Iterator<string> = {
      next: () => ({ done: false, value: "a" }),
      return: () => {
        throw new RangeError("on the way out");
      },
    };
    const balancer = named(() => ({ [Symbol.iterator]: () => leaving }));
    const { submit } = makeScheduler([worker], { balancer });
    const call = only(submit(1));
    await settle();
    expect([call.state, ended.size]).toEqual(["sent", 0]);
  });

  it("because it closes the pool ends every call once", async () => {
    const worker = makeMember("a", [9]);
    const closed = new Error("closed");
    const balancer = named(() => {
      scheduler.failAll(closed);
      return ["a"];
    });
    const { scheduler, submit } = makeScheduler([worker], { balancer });
    const calls = submit(3);
    await settle();
    for (const call of calls) expect(ended.get(call)).toBe(closed);
    expect([scheduler.queued, worker.session.calls.length]).toEqual([0, 0]);
  });

  it("because its feedback fails is told once, and the call goes on", async () => {
    const warning = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const worker = makeMember("a", [9]);
    const balancer: LoadBalancerLike = {
      delegate: () => ["a"],
      settled: () => {
        throw new RangeError("no score");
      },
    };
    const { submit } = makeScheduler([worker], { balancer });
    const calls = submit(2);
    await settle();
    for (const call of calls) {
      worker.session.over(call);
      call.succeed(1);
    }
    expect(calls.map((call) => ended.get(call))).toEqual([1, 1]);
    expect(warning.mock.calls).toEqual([[expect.stringMatching(/settled\(\).*no score/), "WoolWarning"]]);
    warning.mockRestore();
  });
});

describe("feedback", () => {
  /**
   * Balancers that record what they are told: one that is asked about each call, one that lets the pool hand out runs.
   */
  const kinds = [
    ["is asked", false],
    ["lets the pool hand out runs", true],
  ] as const;

  it.each(kinds)("comes once for every hand-over, with what became of it, to one that %s", async (_what, levels) => {
    const act = fc.constantFrom("done", "failed", "rejected", "lost", "cancelled" as const);
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 12 }), fc.boolean(), async (acts, idempotent) => {
        const workers = ["a", "b", "c"].map((uid) => makeMember(uid, [9]));
        const heard: string[] = [];
        const balancer: LoadBalancerLike = {
          levels,
          delegate: (_task, { workers: known }) => known.keys(),
          settled: (uid, { status }, context) => {
            expect(context).toBe(scheduler.eligible.all);
            heard.push(`${uid} ${status}`);
          },
        };
        const { scheduler, submit } = makeScheduler(workers, { balancer });
        const expected: string[] = [];
        for (const status of acts) {
          const controller = new AbortController();
          const call = only(
            submit(1, { idempotent }, (made) => {
              limitCall(made, { signal: controller.signal });
            }),
          );
          await settle();
          const member = workers.find(({ uid }) => uid === workerOf(call));
          if (member === undefined) throw new Error("nobody took it");
          expected.push(`${workerOf(call)} ${status}`);
          if (status === "rejected") refuse(member, call, BUSY);
          else if (status === "lost") lose(member, call);
          else if (status === "cancelled") {
            controller.abort(new Error("enough"));
            member.session.over(call);
          } else {
            member.session.over(call);
            if (status === "done") call.succeed(1);
            else call.raise(new Error("x"));
          }
          await settle();
          if (call.state === "sent") {
            const second = workers.find(({ uid }) => uid === workerOf(call));
            expected.push(`${workerOf(call)} done`);
            second?.session.over(call);
            call.succeed(2);
          }
          expect(heard).toEqual(expected);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("does not come for a call that was never handed to a worker", async () => {
    const heard: string[] = [];
    const balancer: LoadBalancerLike = { delegate: () => [], settled: (uid) => void heard.push(uid) };
    const { submit } = makeScheduler([makeMember("a", [9])], { balancer });
    const call = only(submit(1));
    await settle();
    expect([ended.has(call), heard]).toEqual([true, []]);
  });
});

describe("the balancers of this package", () => {
  const balancers: [string, () => LoadBalancerLike][] = [
    ["RoundRobinLoadBalancer", () => new RoundRobinLoadBalancer()],
    ["PowerOfTwoLoadBalancer", () => new PowerOfTwoLoadBalancer()],
    ["ConsistentHashLoadBalancer", () => new ConsistentHashLoadBalancer()],
  ];

  it.each(balancers)("%s: every call is handed out once, whoever comes and goes", async (_name, make) => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("submit" as const), n: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ kind: fc.constant("answer" as const), n: fc.nat(3) }),
      fc.record({ kind: fc.constant("join" as const), n: fc.nat(2) }),
      fc.record({ kind: fc.constant("leave" as const), n: fc.nat(3) }),
      fc.record({ kind: fc.constant("withdraw" as const), n: fc.nat(3) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 20 }), async (actions) => {
        ended.clear();
        const first = makeMember("first", [2]);
        const all = [first];
        const { scheduler, submit } = makeScheduler([first], { balancer: make() });
        const calls: Call[] = [];
        const answer = (most: number): void => {
          for (const { fake } of all) {
            for (const session of fake.sessions) {
              const open = session.calls.filter((call) => session.has(call));
              for (const call of open.slice(0, most)) {
                session.over(call);
                call.succeed("answered");
              }
            }
          }
          scheduler.progressed();
        };
        for (const { kind, n } of actions) {
          if (kind === "submit") calls.push(...submit(n, n % 2 === 0 ? { key: `key ${n}` } : undefined));
          else if (kind === "answer") answer(n);
          else if (kind === "join") {
            const member = makeMember(`w${all.length}`, [n]);
            all.push(member);
            scheduler.add(member);
          } else if (kind === "leave") {
            const member = all[n];
            if (member !== undefined && member !== first) scheduler.remove(member);
          } else {
            const call = calls.filter(({ state }) => state === "waiting")[n];
            if (call === undefined) continue;
            call.cancel("withdrawn");
            ended.set(call, "withdrawn");
          }
          await settle();
          const waiting = calls.filter(({ state }) => state === "waiting");
          expect(scheduler.queued).toBe(waiting.length);
        }
        for (let i = 0; ended.size < calls.length && i < 500; i++) {
          for (const { fake } of all) for (const session of fake.sessions) session.room = 9;
          answer(9);
          await settle();
        }
        expect(ended.size).toBe(calls.length);
        const handed = all.flatMap(({ fake }) => fake.sessions.flatMap((session) => session.calls));
        expect(new Set(handed).size).toBe(handed.length);
        expect(scheduler.queued).toBe(0);
      }),
      { numRuns: 40 },
    );
  });
});
