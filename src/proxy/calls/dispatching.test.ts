import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ended, makeMember, makeScheduler, settle } from "../../../test/support/fake-workers.ts";
import { TaskTimeout } from "../../errors.ts";
import { routine } from "../../routine/routine.ts";
import { requireFunctionRoutine } from "../../routine/routine-object.ts";
import { Dispatching } from "./dispatching.ts";

const apply = requireFunctionRoutine(
  routine(async (fn: () => number) => fn()),
  "test",
);
const scope = { number: 1, pool: new Uint8Array(0) };

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
    const dispatching = new Dispatching(scheduler, () => scope);
    const outcome = dispatching.call(apply, [() => 1], { dispatchTimeout: 50, timeout: 500 });
    await settle();
    const [first] = worker.session.calls;
    const remade = first?.remake?.(["some module"], "it is not there");
    if (first === undefined || remade === undefined) throw new Error("the call was not made anew");
    worker.session.over(first);
    scheduler.remade(remade);
    await settle();
    expect(worker.session.calls).toEqual([first, remade]);
    remade.onStarted?.();
    await vi.advanceTimersByTimeAsync(100);
    remade.resolve("done");
    expect(await outcome).toBe("done");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a call for one worker and no other", () => {
  it("that is withdrawn before it is sent is not taken for one that waits", async () => {
    const worker = makeMember("a", [9], "idle");
    const { scheduler } = makeScheduler([worker]);
    const outcome = new Dispatching(scheduler, () => scope).callOn(worker, apply, [() => 1], { dispatchTimeout: 50 });
    const rejection = expect(outcome).rejects.toBeInstanceOf(TaskTimeout);
    await vi.advanceTimersByTimeAsync(51);
    await rejection;
    expect(scheduler.queued).toBe(0);
    worker.fake.ready();
    await settle();
    expect(worker.session.calls).toEqual([]);
  });
});
