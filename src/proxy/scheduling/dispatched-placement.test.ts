import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ended,
  lose,
  makeMember,
  makeScheduler,
  numbers,
  refuse,
  settle,
  workerOf,
} from "../../../test/support/fake-workers.ts";
import type {
  DispatchableTask,
  DispatchingLoadBalancerLike,
  DispatchOptions,
  ResultStream,
} from "../../balancing/index.ts";
import type { Call } from "../../call/call.ts";
import { limitCall } from "../../call/call-limits.ts";
import {
  InvalidArgument,
  NoWorkersAvailable,
  RpcError,
  TaskCancelled,
  TransientRpcError,
  WorkerLost,
} from "../../errors.ts";

const BUSY = new TransientRpcError("busy", 8);
const NONSENSE = new RpcError("nonsense", 13);

beforeEach(() => ended.clear());
afterEach(() => {
  vi.useRealTimers();
});

type Dispatch = DispatchingLoadBalancerLike["dispatch"];

const by = (dispatch: Dispatch): DispatchingLoadBalancerLike => ({ dispatch });

/** Leaves the decision to the test. */
function inHand(): { balancer: DispatchingLoadBalancerLike; tasks: DispatchableTask[]; options: DispatchOptions[] } {
  const tasks: DispatchableTask[] = [];
  const options: DispatchOptions[] = [];
  const balancer = by((task, given) => {
    tasks.push(task);
    options.push(given);
    return new Promise(() => undefined);
  });
  return { balancer, tasks, options };
}

/** How a promise was settled. */
async function outcome(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    (value) => ["resolved", value],
    (error: unknown) => error,
  );
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`there are ${items.length}, none at ${index}`);
  return item;
}

describe("a balancer that dispatches itself", () => {
  it("gets each task with the workers and the time left, and sends it", async () => {
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9])];
    const asked: [Omit<DispatchableTask, "sendTo">, DispatchOptions][] = [];
    const balancer = by((task, options) => {
      const { sendTo: _, ...info } = task;
      asked.push([info, options]);
      return task.sendTo("b");
    });
    const { scheduler, submit } = makeScheduler([a, b], { balancer });
    const [call] = submit(1, { key: "k", acceptBy: performance.now() + 5000 });
    const [timeless] = submit(1);
    await settle();
    expect(numbers(b.session.calls)).toEqual(numbers([call, timeless]));
    expect(asked[0]?.[0]).toMatchObject({ sequence: call?.sequence, name: "add", key: "k", needs: [], kind: "call" });
    expect(asked[0]?.[1].context).toBe(scheduler.eligible.all);
    expect(asked[0]?.[1].timeout).toBeGreaterThan(0);
    expect(asked[0]?.[1].timeout).toBeLessThanOrEqual(5000);
    expect(asked[1]?.[1].timeout).toBeUndefined();
  });

  it("has the results stand for themselves once the worker accepts the task", async () => {
    const a = makeMember("a", [9]);
    const { balancer, tasks } = inHand();
    const { submit } = makeScheduler([a], { balancer });
    const [call] = submit(1);
    await settle();
    let stream: ResultStream | undefined;
    const sent = at(tasks, 0)
      .sendTo("a")
      .then((given) => {
        stream = given;
      });
    await settle();
    expect(stream).toBeUndefined();
    call?.start();
    await sent;
    expect(stream?.uid).toBe("a");
    let over: unknown;
    void stream?.ended.then((given) => {
      over = given;
    });
    await settle();
    expect(over).toBeUndefined();
    call?.succeed(5);
    await settle();
    expect([over, call === undefined ? undefined : ended.get(call)]).toEqual([{ status: "done" }, 5]);
  });

  it("may hold tasks: they count as queued, can be withdrawn and fail with the pool", async () => {
    const { balancer, tasks } = inHand();
    const { scheduler, submit } = makeScheduler([makeMember("a", [9])], { balancer });
    const [first, second] = submit(2);
    if (first === undefined || second === undefined) throw new Error("no calls");
    await settle();
    expect([tasks.length, scheduler.queued]).toEqual([2, 2]);
    first.cancel("withdrawn");
    expect(scheduler.queued).toBe(1);
    expect(await outcome(at(tasks, 0).sendTo("a"))).toBeInstanceOf(TaskCancelled);
    const closed = new Error("closed");
    scheduler.failAll(closed);
    expect([ended.get(second), scheduler.queued]).toEqual([closed, 0]);
    expect(await outcome(at(tasks, 1).sendTo("a"))).toBeInstanceOf(TaskCancelled);
  });

  it("may hold them when there are no workers, until one comes", async () => {
    const { balancer, tasks } = inHand();
    const { scheduler, submit } = makeScheduler([], { balancer });
    submit(1);
    await settle();
    expect([tasks.length, ended.size]).toEqual([1, 0]);
    const late = makeMember("late", [9]);
    scheduler.add(late);
    void at(tasks, 0).sendTo("late");
    expect(late.session.calls).toHaveLength(1);
  });
});

describe("sendTo", () => {
  it("waits for room, and counts as load", async () => {
    const a = makeMember("a", [1]);
    const { balancer, tasks } = inHand();
    const { scheduler, submit } = makeScheduler([a], { balancer });
    const calls = submit(3);
    await settle();
    for (const task of tasks) void task.sendTo("a");
    expect([a.session.calls.length, scheduler.queued, scheduler.eligible.all.load("a")]).toEqual([1, 2, 3]);
    a.session.room = 2;
    scheduler.progressed();
    expect(numbers(a.session.calls)).toEqual(numbers(calls));
  });

  it("connects first", async () => {
    const a = makeMember("a", [1], "idle");
    const { balancer, tasks } = inHand();
    const { scheduler, submit } = makeScheduler([a], { balancer });
    submit(1);
    await settle();
    void at(tasks, 0).sendTo("a");
    expect([a.fake.state, scheduler.queued]).toEqual(["connecting", 1]);
    a.fake.ready();
    scheduler.progressed();
    expect(a.session.calls).toHaveLength(1);
  });

  it("rejects with what a worker said that refused the task, which may go to another then", async () => {
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9])];
    const { balancer, tasks } = inHand();
    const { submit, evicted } = makeScheduler([a, b], { balancer });
    const call = at(submit(1), 0);
    await settle();
    const refused = outcome(at(tasks, 0).sendTo("a"));
    refuse(a, call, NONSENSE);
    expect([await refused, evicted]).toEqual([NONSENSE, ["a"]]);
    void at(tasks, 0).sendTo("b");
    expect([workerOf(call), ended.size]).toEqual(["b", 0]);
  });

  it("rejects when the worker is unknown, leaves, cannot be reached or has no room in time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const [full, gone, away, good] = [
      makeMember("full", [0]),
      makeMember("gone", [0]),
      makeMember("away", [1], "idle"),
      makeMember("good", [1]),
    ];
    const { balancer, tasks } = inHand();
    const { scheduler, submit } = makeScheduler([full, gone, away, good], { balancer });
    const call = at(submit(1), 0);
    await settle();
    const task = at(tasks, 0);
    const errors: unknown[] = [await outcome(task.sendTo("ghost"))];
    const leaves = outcome(task.sendTo("gone"));
    scheduler.remove(gone);
    errors.push(await leaves);
    const unreachable = outcome(task.sendTo("away"));
    away.fake.fail(new TransientRpcError("away is off", 14));
    errors.push(await unreachable);
    const slow = outcome(task.sendTo("full", { timeout: 50 }));
    await vi.advanceTimersByTimeAsync(50);
    errors.push(await slow);
    expect(errors.map(String)).toEqual([
      'TransientRpcError: worker "ghost" is not in the pool',
      "TransientRpcError: worker gone left the pool before it took the task",
      "TransientRpcError: away is off",
      "TransientRpcError: worker full had no room for add within the timeout of 50 ms",
    ]);
    for (const error of errors) expect(error).toBeInstanceOf(TransientRpcError);
    expect([scheduler.queued, vi.getTimerCount()]).toEqual([1, 0]);
    void task.sendTo("good", { timeout: 50 });
    expect([workerOf(call), scheduler.queued, vi.getTimerCount()]).toEqual(["good", 0, 0]);
    full.session.room = 5;
    scheduler.progressed();
    expect(full.session.calls).toEqual([]);
  });

  it.each([["5"], [-1], [Number.NaN], [null]])("takes no timeout of %s", async (timeout) => {
    const { balancer, tasks } = inHand();
    const { submit } = makeScheduler([makeMember("a", [1])], { balancer });
    submit(1);
    await settle();
    const error = await outcome(at(tasks, 0).sendTo("a", { timeout: timeout as number }));
    expect(error).toBeInstanceOf(InvalidArgument);
    expect(String(error)).toMatch(/option "timeout" must be a number of milliseconds/);
  });

  it.each([
    ["waits for room", 0, false],
    ["has been handed over", 1, false],
    ["was accepted", 1, true],
  ])("refuses to send a task again that %s", async (_when, room, accepted) => {
    const [a, b] = [makeMember("a", [room]), makeMember("b", [9])];
    const { balancer, tasks } = inHand();
    const { submit } = makeScheduler([a, b], { balancer });
    const call = at(submit(1), 0);
    await settle();
    void at(tasks, 0).sendTo("a");
    if (accepted) call.start();
    const error = await outcome(at(tasks, 0).sendTo("b"));
    expect(error).toBeInstanceOf(InvalidArgument);
    expect(String(error)).toMatch(/add cannot be sent to worker "b": it has been sent to worker "a".*at most one/);
    expect(b.session.calls).toEqual([]);
  });

  it("rejects with WorkerLost when the worker vanishes, and the call with it", async () => {
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9])];
    const { balancer, tasks } = inHand();
    const { submit } = makeScheduler([a, b], { balancer });
    const call = at(submit(1), 0);
    await settle();
    const sent = outcome(at(tasks, 0).sendTo("a"));
    lose(a, call);
    expect(await sent).toBeInstanceOf(WorkerLost);
    expect(ended.get(call)).toBeInstanceOf(WorkerLost);
    expect(await outcome(at(tasks, 0).sendTo("b"))).toBeInstanceOf(TaskCancelled);
    expect(b.session.calls).toEqual([]);
  });

  it("has an idempotent task dispatched anew after that, and once only", async () => {
    const workers = ["a", "b", "c"].map((uid) => makeMember(uid, [9]));
    const tasks: DispatchableTask[] = [];
    const balancer = by((task) => {
      tasks.push(task);
      return task.sendTo(tasks.length === 1 ? "a" : "b");
    });
    const { submit } = makeScheduler(workers, { balancer });
    const call = at(submit(1, { idempotent: true }), 0);
    await settle();
    lose(at(workers, 0), call);
    await settle();
    expect([ended.size, tasks.length, workerOf(call)]).toEqual([0, 2, "b"]);
    expect(await outcome(at(tasks, 0).sendTo("c"))).toBeInstanceOf(TaskCancelled);
    lose(at(workers, 1), call);
    await settle();
    expect(ended.get(call)).toBeInstanceOf(WorkerLost);
    expect(tasks).toHaveLength(2);
  });

  it("rejects when the caller stops waiting; what was sent is cancelled", async () => {
    const a = makeMember("a", [1]);
    const { balancer, tasks } = inHand();
    const { scheduler, submit } = makeScheduler([a], { balancer });
    const controller = new AbortController();
    const calls = submit(2, undefined, (call) => limitCall(call, { signal: controller.signal }));
    await settle();
    const sends = tasks.map((task) => outcome(task.sendTo("a")));
    const reason = new Error("enough");
    controller.abort(reason);
    for (const send of sends) expect(await send).toBeInstanceOf(TaskCancelled);
    expect(calls.map((call) => ended.get(call))).toEqual([reason, reason]);
    expect(a.session.cancelled).toEqual(calls.slice(0, 1));
    expect(scheduler.queued).toBe(0);
  });
});

describe("a task that was accepted", () => {
  it("whose worker is lost is dispatched anew if it is idempotent; the first handle is of no use then", async () => {
    const [a, b] = [makeMember("a", [9]), makeMember("b", [9])];
    const tasks: DispatchableTask[] = [];
    const balancer = by((task) => {
      tasks.push(task);
      return task.sendTo(tasks.length === 1 ? "a" : "b");
    });
    const { submit } = makeScheduler([a, b], { balancer });
    const call = at(submit(1, { idempotent: true }), 0);
    await settle();
    call.start();
    await settle();
    lose(a, call);
    expect([tasks.length, workerOf(call), ended.size]).toEqual([2, "b", 0]);
    expect(await outcome(at(tasks, 0).sendTo("a"))).toBeInstanceOf(TaskCancelled);
    call.succeed(3);
    expect(ended.get(call)).toBe(3);
  });

  it.each([
    ["fails", "failed"],
    ["is lost", "lost"],
    ["is cancelled", "cancelled"],
  ] as const)("and %s tells so", async (_what, status) => {
    const a = makeMember("a", [9]);
    const { balancer, tasks } = inHand();
    const { submit } = makeScheduler([a], { balancer });
    const controller = new AbortController();
    const call = at(
      submit(1, undefined, (made) => limitCall(made, { signal: controller.signal })),
      0,
    );
    await settle();
    const sent = at(tasks, 0).sendTo("a");
    call.start();
    const { ended: over } = await sent;
    if (status === "lost") lose(a, call);
    else if (status === "cancelled") controller.abort(new Error("enough"));
    else call.raise(new Error("x"));
    expect(await over).toEqual({ status });
  });

  it("was accepted also when the worker answers it at once", async () => {
    const a = makeMember("a", [9]);
    const { balancer, tasks } = inHand();
    const { submit } = makeScheduler([a], { balancer });
    const call = at(submit(1), 0);
    await settle();
    const sent = at(tasks, 0).sendTo("a");
    call.succeed(1);
    expect(await (await sent).ended).toEqual({ status: "done" });
  });

  it("is sent to the same worker again when that lacked its code", async () => {
    const a = makeMember("a", [9]);
    const { balancer, tasks } = inHand();
    const { submit } = makeScheduler([a], { balancer });
    const call = at(submit(1), 0);
    await settle();
    const sent = at(tasks, 0).sendTo("a");
    a.session.over(call);
    call.owner?.remade(call);
    expect([workerOf(call), call.state, a.session.calls.length]).toEqual(["a", "sent", 2]);
    call.start();
    expect((await sent).uid).toBe("a");
    expect(await outcome(at(tasks, 0).sendTo("a"))).toBeInstanceOf(InvalidArgument);
  });
});

describe("a dispatch that goes wrong", () => {
  const nothing = undefined as unknown as ResultStream;
  const cases: [string, Dispatch, RegExp][] = [
    [
      "throws",
      () => {
        throw new RangeError("no idea");
      },
      /^RangeError: no idea$/,
    ],
    ["rejects", () => Promise.reject(new RangeError("no idea")), /^RangeError: no idea$/],
    [
      "resolves with nothing",
      async () => nothing,
      /InvalidArgument: dispatch\(\) of the load balancer, an object, resolved for add with undefined, without having sent/,
    ],
    [
      "returns nothing",
      () => undefined as never,
      /without having sent the task to a worker: it must return what task\.sendTo/,
    ],
    [
      "resolves with results of its own",
      async () => ({ uid: "a", ended: Promise.resolve({ status: "done" }) }),
      /InvalidArgument.*an object/,
    ],
  ];

  it.each(cases)("because it %s fails that call alone", async (_what, broken, text) => {
    const a = makeMember("a", [9]);
    const balancer = by((task, options) => (task.key === "good" ? task.sendTo("a") : broken(task, options)));
    const { scheduler, submit } = makeScheduler([a], { balancer });
    const bad = at(submit(1), 0);
    const good = at(submit(1, { key: "good" }), 0);
    await settle();
    expect(String(ended.get(bad))).toMatch(text);
    expect(numbers(a.session.calls)).toEqual(numbers([good]));
    expect(scheduler.queued).toBe(0);
  });

  it("because it forgets to return the results cancels the task and says so", async () => {
    const a = makeMember("a", [9]);
    const balancer = by(async (task) => {
      await task.sendTo("a");
      return nothing;
    });
    const { submit } = makeScheduler([a], { balancer });
    const call = at(submit(1), 0);
    await settle();
    expect(ended.size).toBe(0);
    call.start();
    await settle();
    expect(String(ended.get(call))).toMatch(/with undefined, with a value that its sendTo\(\) did not give/);
    expect(a.session.cancelled).toEqual([call]);
  });

  it("because it fails while the task waits for room or is under way ends the task", async () => {
    const a = makeMember("a", [1]);
    const balancer = by(async (task) => {
      void task.sendTo("a");
      throw new RangeError("changed my mind");
    });
    const { scheduler, submit } = makeScheduler([a], { balancer });
    const calls = submit(2);
    await settle();
    for (const call of calls) expect(String(ended.get(call))).toBe("RangeError: changed my mind");
    expect(a.session.cancelled).toEqual(calls.slice(0, 1));
    expect(scheduler.queued).toBe(0);
  });

  it("because it closes the pool ends every call", async () => {
    const closed = new Error("closed");
    const balancer = by(() => {
      scheduler.failAll(closed);
      return new Promise(() => undefined);
    });
    const { scheduler, submit } = makeScheduler([makeMember("a", [9])], { balancer });
    const calls = submit(3);
    await settle();
    for (const call of calls) expect(ended.get(call)).toBe(closed);
    expect(scheduler.queued).toBe(0);
  });
});

it("is at one worker at a time and ends once, whatever balancer and workers do", async () => {
  const step = fc.record({
    what: fc.constantFrom("send", "accept", "refuse", "lose", "answer", "room", "leave", "join", "abort" as const),
    task: fc.nat(3),
    worker: fc.nat(3),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, idempotent) => {
      ended.clear();
      const members = ["w0", "w1", "w2", "w3"].map((uid) => makeMember(uid, [1]));
      const { balancer, tasks } = inHand();
      const { scheduler, submit } = makeScheduler(members, { balancer });
      const controllers: AbortController[] = [];
      const ends = new Map<Call, number>();
      const calls = submit(4, { idempotent }, (call) => {
        const controller = new AbortController();
        controllers.push(controller);
        call.watch({ ended: () => ends.set(call, (ends.get(call) ?? 0) + 1) });
        limitCall(call, { signal: controller.signal });
      });
      await settle();
      for (const { what, task, worker } of steps) {
        const member = at(members, worker);
        const call = at(calls, task);
        const holder = members.find(({ session }) => session.has(call));
        const running = holder !== undefined;
        if (what === "send")
          at(tasks, task)
            .sendTo(member.uid)
            .catch(() => undefined);
        else if (what === "accept" && running) call.start();
        else if (what === "refuse" && running) refuse(holder, call, BUSY);
        else if (what === "lose" && running) lose(holder, call);
        else if (what === "answer" && running) {
          holder.session.over(call);
          call.succeed(1);
        } else if (what === "room") {
          member.session.room++;
          scheduler.progressed();
        } else if (what === "leave" && scheduler.members.has(member.uid)) scheduler.remove(member);
        else if (what === "join" && !scheduler.members.has(member.uid)) scheduler.add(member);
        else if (what === "abort") at(controllers, task).abort(new Error("enough"));
        await settle();
        expect(scheduler.queued).toBe(calls.filter(({ state }) => state === "waiting").length);
        for (const count of ends.values()) expect(count).toBe(1);
      }
      scheduler.failAll(new NoWorkersAvailable("over"));
      for (const call of calls) if (call.task === undefined) expect(ended.has(call)).toBe(true);
    }),
    { numRuns: 80 },
  );
});
