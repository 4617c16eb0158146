import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TaskTimeout } from "../errors.ts";
import type { CallOptions } from "../routine/options.ts";
import type { Route } from "../routine/route.ts";
import { Payload } from "../wire/payload.ts";
import { Call, type CallSession } from "./call.ts";
import { controlCall } from "./call-limits.ts";
import { RemoteFailure } from "./remote-failure.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A call under control, and everything that happens to it. */
function control(options: CallOptions) {
  const happened: unknown[] = [];
  const owner = {
    rejected: () => undefined,
    returned: () => undefined,
    remade: () => undefined,
    lost: () => undefined,
  };
  const call = new Call({ name: "add" } as Route, owner, undefined, undefined, Payload.EMPTY);
  call.resolve = (value) => void happened.push(["resolved", value]);
  call.reject = (failure) => void happened.push(["failed", failure instanceof RemoteFailure ? failure.error : failure]);
  controlCall(call, options, () => void happened.push("withdrawn"));
  const hand = () => {
    call.session = {
      cancel: (_call: Call, reason: unknown) => void happened.push(["cancelled", reason]),
    } as unknown as CallSession;
    call.state = "sent";
    call.onHanded?.();
  };
  return { call, happened, hand };
}

describe("a signal", () => {
  it("takes a waiting call back", () => {
    const controller = new AbortController();
    const { happened } = control({ signal: controller.signal });
    controller.abort("enough");
    expect(happened).toEqual(["withdrawn", ["failed", "enough"]]);
  });

  it("cancels a call at its worker, with the reason", () => {
    const controller = new AbortController();
    const { happened, hand } = control({ signal: controller.signal });
    hand();
    controller.abort("enough");
    expect(happened).toEqual([
      ["cancelled", "enough"],
      ["failed", "enough"],
    ]);
  });

  it("means nothing to a call that is over", () => {
    const controller = new AbortController();
    const [done, failed] = [control({ signal: controller.signal }), control({ signal: controller.signal })];
    done.call.resolve(1);
    failed.call.reject(new RemoteFailure("x"));
    controller.abort("late");
    expect([done.happened, failed.happened]).toEqual([[["resolved", 1]], [["failed", "x"]]]);
    expect(getEventListeners(controller.signal, "abort").length).toBeLessThanOrEqual(1);
  });
});

describe("dispatchTimeout", () => {
  it("ends a call that no worker has started in time, waiting or handed over", () => {
    const [waiting, sent] = [control({ dispatchTimeout: 100 }), control({ dispatchTimeout: 100 })];
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
    const { call, happened, hand } = control({ dispatchTimeout: 100 });
    hand();
    call.onStarted?.();
    vi.advanceTimersByTime(10_000);
    expect(happened).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("timeout", () => {
  it("begins when the call is handed over, and anew at another worker", () => {
    const { call, happened, hand } = control({ timeout: 100 });
    vi.advanceTimersByTime(1000);
    hand();
    vi.advanceTimersByTime(60);
    hand();
    vi.advanceTimersByTime(60);
    expect(happened).toEqual([]);
    vi.advanceTimersByTime(40);
    expect(happened.at(-1)).toEqual(["failed", expect.any(TaskTimeout)]);
    expect(String(happened.at(-1))).toMatch(/add did not end within its timeout of 100 ms/);
    expect(call.state).toBe("sent");
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 40])("of %d is none: a timer would fire at once", (timeout) => {
    const { happened, hand } = control({ timeout, dispatchTimeout: timeout });
    hand();
    vi.advanceTimersByTime(1000);
    expect(happened).toEqual([]);
  });

  it("leaves no timer when the call is over", () => {
    const { call, hand } = control({ timeout: 100, dispatchTimeout: 100 });
    hand();
    expect(vi.getTimerCount()).toBe(2);
    call.resolve(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("of 0 ends the call as soon as it is handed over", () => {
    const { happened, hand } = control({ timeout: 0 });
    hand();
    vi.advanceTimersByTime(1);
    expect(happened.at(-1)).toEqual(["failed", expect.any(TaskTimeout)]);
  });
});
