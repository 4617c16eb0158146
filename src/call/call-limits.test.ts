import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TaskTimeout } from "../errors.ts";
import type { CallOptions } from "../routine/options.ts";
import type { Route } from "../routine/route.ts";
import { Call } from "./call.ts";
import { CallGroup } from "./call-group.ts";
import { limitCall } from "./call-limits.ts";
import type { CallOwner } from "./call-parties.ts";
import { RemoteFailure } from "./remote-failure.ts";
import type { RemoteTask } from "./remote-task.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A call with limits, and a record of everything that happens to it. */
function limit(options: CallOptions) {
  const happened: unknown[] = [];
  const owner: CallOwner = {
    withdraw: () => void happened.push("withdrawn"),
    rejected: () => undefined,
    returned: () => undefined,
    remade: () => undefined,
    lost: () => undefined,
  };
  const call = new Call(
    { name: "add" } as Route,
    new CallGroup(),
    (value) => void happened.push(["resolved", value]),
    (failure) => void happened.push(["failed", failure instanceof RemoteFailure ? failure.error : failure]),
  );
  call.waitAt(owner);
  limitCall(call, options);
  const recipient = { uid: "w", tally: { inFlight: 0, done: 0, failed: 0 } };
  const hand = () => {
    const task = { cancel: (reason: unknown) => void happened.push(["cancelled", reason]) };
    call.send(task as unknown as RemoteTask, recipient);
  };
  const giveBack = () => {
    call.leave();
    call.waitAgain(owner, "rejected");
  };
  return { call, happened, hand, giveBack };
}

describe("a signal", () => {
  it("takes a waiting call back", () => {
    const controller = new AbortController();
    const { happened } = limit({ signal: controller.signal });
    controller.abort("enough");
    expect(happened).toEqual(["withdrawn", ["failed", "enough"]]);
  });

  it("cancels a call at its worker, with the reason", () => {
    const controller = new AbortController();
    const { happened, hand } = limit({ signal: controller.signal });
    hand();
    controller.abort("enough");
    expect(happened).toEqual([
      ["cancelled", "enough"],
      ["failed", "enough"],
    ]);
  });

  it("means nothing to a call that is over", () => {
    const controller = new AbortController();
    const [done, failed] = [limit({ signal: controller.signal }), limit({ signal: controller.signal })];
    for (const { hand } of [done, failed]) hand();
    done.call.succeed(1);
    failed.call.raise("x");
    controller.abort("late");
    expect([done.happened, failed.happened]).toEqual([[["resolved", 1]], [["failed", "x"]]]);
    expect(getEventListeners(controller.signal, "abort").length).toBeLessThanOrEqual(1);
  });
});

describe("dispatchTimeout", () => {
  it("ends a call that no worker has started in time, waiting or handed over", () => {
    const [waiting, sent] = [limit({ dispatchTimeout: 100 }), limit({ dispatchTimeout: 100 })];
    sent.hand();
    vi.advanceTimersByTime(99);
    expect([waiting.happened, sent.happened]).toEqual([[], []]);
    vi.advanceTimersByTime(1);
    expect(waiting.happened).toEqual(["withdrawn", ["failed", expect.any(TaskTimeout)]]);
    expect(sent.happened).toEqual([
      ["cancelled", expect.any(TaskTimeout)],
      ["failed", expect.any(TaskTimeout)],
    ]);
    expect(String(waiting.happened[1])).toMatch(/add was accepted by no worker within its dispatchTimeout of 100 ms/);
  });

  it("does not bound a call that was started", () => {
    const { call, happened, hand } = limit({ dispatchTimeout: 100 });
    hand();
    call.start();
    vi.advanceTimersByTime(10_000);
    expect(happened).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("timeout", () => {
  it("begins when the call is handed over, and anew at another worker", () => {
    const { call, happened, hand, giveBack } = limit({ timeout: 100 });
    vi.advanceTimersByTime(1000);
    hand();
    vi.advanceTimersByTime(60);
    giveBack();
    hand();
    vi.advanceTimersByTime(60);
    expect(happened).toEqual([]);
    vi.advanceTimersByTime(40);
    expect(happened.at(-1)).toEqual(["failed", expect.any(TaskTimeout)]);
    expect(String(happened.at(-1))).toMatch(/add did not end within its timeout of 100 ms/);
    expect(call.state).toBe("ended");
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 40])("of %d is none: a timer would fire at once", (timeout) => {
    const { happened, hand } = limit({ timeout, dispatchTimeout: timeout });
    hand();
    vi.advanceTimersByTime(1000);
    expect(happened).toEqual([]);
  });

  it("leaves no timer when the call is over", () => {
    const { call, hand } = limit({ timeout: 100, dispatchTimeout: 100 });
    hand();
    expect(vi.getTimerCount()).toBe(2);
    call.succeed(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("of 0 ends the call as soon as it is handed over", () => {
    const { happened, hand } = limit({ timeout: 0 });
    hand();
    vi.advanceTimersByTime(1);
    expect(happened.at(-1)).toEqual(["failed", expect.any(TaskTimeout)]);
  });
});
