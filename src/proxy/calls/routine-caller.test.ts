import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ended, makeMember, makeScheduler, settle } from "../../../test/support/fake-workers.ts";
import { PoolSaturated, TaskTimeout } from "../../errors.ts";
import { routine } from "../../routine/routine.ts";
import { requireFunctionRoutine } from "../../routine/routine-object.ts";
import { RoutineCaller } from "./routine-caller.ts";

const { spec: apply } = requireFunctionRoutine(
  routine(async (fn: () => number) => fn()),
  "test",
);
const pool = { number: 1, version: 1, balancer: undefined, describe: () => undefined };

beforeEach(() => {
  ended.clear();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a call that is made anew for a worker without its code", () => {
  it("has been accepted when the second one is, and is under one time limit", async () => {
    const worker = makeMember("a", [9]);
    const { scheduler } = makeScheduler([worker]);
    const caller = new RoutineCaller(scheduler, pool);
    const outcome = caller.call(apply, [() => 1], { dispatchTimeout: 50, timeout: 500 });
    await settle();
    const [first] = worker.session.calls;
    if (first === undefined) throw new Error("the call was not handed out");
    worker.session.over(first);
    expect(first.remake?.(first, ["some module"], "it is not there")).toBe(true);
    first.owner?.remade(first);
    await settle();
    expect(worker.session.calls).toEqual([first, first]);
    first.start();
    await vi.advanceTimersByTimeAsync(100);
    first.succeed("done");
    expect(await outcome).toBe("done");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a call that is refused because too many wait", () => {
  it("leaves no timer and no listener behind, and does not count as one that waits", async () => {
    const { scheduler } = makeScheduler([makeMember("a", [0])], { maxPending: 0 });
    const { signal } = new AbortController();
    const outcome = new RoutineCaller(scheduler, pool).call(apply, [() => 1], { signal, dispatchTimeout: 50 });
    await expect(outcome).rejects.toBeInstanceOf(PoolSaturated);
    expect([vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([0, 0]);
    expect([scheduler.queued, scheduler.calls.size]).toEqual([0, 0]);
  });
});

describe("a call for one worker and no other", () => {
  it("that is withdrawn before it is sent is not taken for one that waits", async () => {
    const worker = makeMember("a", [9], "idle");
    const { scheduler } = makeScheduler([worker]);
    const outcome = new RoutineCaller(scheduler, pool).callOn(worker, apply, [() => 1], { dispatchTimeout: 50 });
    const rejection = expect(outcome).rejects.toBeInstanceOf(TaskTimeout);
    await vi.advanceTimersByTimeAsync(51);
    await rejection;
    expect(scheduler.queued).toBe(0);
    worker.fake.ready();
    await settle();
    expect(worker.session.calls).toEqual([]);
  });
});
