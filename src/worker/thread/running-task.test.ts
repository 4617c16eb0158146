import { afterEach, describe, expect, it, vi } from "vitest";
import { TaskCancelled } from "../../errors.ts";
import type { ExecutorSession } from "./executor-session.ts";
import type { RemoteRoutine } from "./routines/remote-routine.ts";
import { RunningTask } from "./running-task.ts";

function make(timeout = 0, caller?: string): RunningTask {
  const session = { callerId: "caller" } as ExecutorSession;
  return new RunningTask(session, { name: "add" } as RemoteRoutine, "w-1", 7, 36, caller, timeout);
}

afterEach(() => {
  vi.useRealTimers();
});

describe("RunningTask", () => {
  it("tells who it is", () => {
    const task = make(0, "other-1");
    expect(task).toMatchObject({ id: "caller-10", name: "add", tag: "add@w-1", worker: "w-1", caller: "other-1" });
    expect(task).toMatchObject({ state: "parked", wireId: 7, exception: undefined });
  });

  it("has a deadline when its time is limited", () => {
    vi.useFakeTimers({ now: 1000, toFake: ["Date"] });
    expect(make(500).deadline).toBe(1500);
    expect(make(0).deadline).toBeUndefined();
  });

  it("has one signal, which is aborted with the reason, once", () => {
    const task = make();
    const { signal } = task;
    expect(task.signal).toBe(signal);
    expect(signal.aborted).toBe(false);
    task.abort("enough");
    task.abort("again");
    expect([signal.aborted, signal.reason]).toEqual([true, "enough"]);
  });

  it("has an aborted signal when that is asked for only later", () => {
    const task = make();
    task.abort("enough");
    expect([task.signal.aborted, task.signal.reason]).toEqual([true, "enough"]);
  });

  it("is cancelled without a reason as well", () => {
    const task = make();
    task.abort(undefined);
    expect(task.signal.reason).toBeInstanceOf(TaskCancelled);
    expect(String(task.signal.reason)).toContain("add was cancelled");
  });
});
