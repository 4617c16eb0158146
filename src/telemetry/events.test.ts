import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { WorkerMetadata } from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";
import {
  areTasksObserved,
  emitTaskEvent,
  emitWorkerEvent,
  events,
  type WorkerEvent,
  type WorkerEventType,
} from "./events.ts";

const worker: WorkerMetadata = {
  uid: "w",
  address: "unix:/x",
  pid: 1,
  version: "1",
  tags: new Set(),
  extra: {},
  secure: false,
  channel: {},
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

afterEach(() => {
  vi.restoreAllMocks();
});

describe("events", () => {
  it("reach handlers of their type after the fact, in order, until they are disposed of", async () => {
    const seen: string[] = [];
    const added = events.on("worker-added", ({ type }) => seen.push(type));
    const evicted = events.on("worker-evicted", ({ type, reason }) => seen.push(`${type}: ${reason?.message}`));
    emitWorkerEvent("worker-added", worker);
    emitWorkerEvent("worker-evicted", worker, new Error("nonsense"));
    emitWorkerEvent("worker-dropped", worker);
    expect(seen).toEqual([]);
    await turn();
    expect(seen).toEqual(["worker-added", "worker-evicted: nonsense"]);
    added[Symbol.dispose]();
    evicted[Symbol.dispose]();
    emitWorkerEvent("worker-added", worker);
    await turn();
    expect(seen).toHaveLength(2);
  });

  it("are published on diagnostics channels", async () => {
    const seen: unknown[] = [];
    const note = (message: unknown) => void seen.push(message);
    subscribe("wool:worker-updated", note);
    emitWorkerEvent("worker-updated", worker);
    await turn();
    unsubscribe("wool:worker-updated", note);
    expect(seen).toEqual([{ type: "worker-updated", worker, time: expect.any(Number), reason: undefined }]);
  });

  it.each([
    [
      "throw",
      () => {
        throw new Error("bad handler");
      },
    ],
    ["reject", () => Promise.reject(new Error("bad handler"))],
  ])("of handlers that %s are reported once, and others get theirs", async (_how, handler) => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const seen: WorkerEvent[] = [];
    // oxlint-disable-next-line no-misused-promises -- users do that
    const bad = events.on("worker-added", handler);
    const good = events.on("worker-added", (event) => seen.push(event));
    for (let i = 0; i < 3; i++) emitWorkerEvent("worker-added", worker);
    await turn();
    bad[Symbol.dispose]();
    good[Symbol.dispose]();
    expect(seen).toHaveLength(3);
    expect(warn.mock.calls.map(([text]) => String(text))).toEqual([expect.stringContaining("bad handler")]);
  });

  it("of a type that there is not are refused", () => {
    const unknown = "worker-lost" as WorkerEventType;
    const subscribe = (): Disposable => events.on(unknown, () => undefined);
    expect(subscribe).toThrow(InvalidArgument);
    expect(subscribe).toThrow('there are no events "worker-lost": use one of task-created, ');
  });

  it("of several types, or of all of a kind, take one registration", async () => {
    const task = { id: "t", name: "add", tag: "add", kind: "call" } as const;
    const seen: string[] = [];
    const some = events.on(["task-completed", "worker-added", "worker-added"], (event) =>
      seen.push(`some ${event.type}`),
    );
    const all = events.on("task", ({ type, task: { name } }) => seen.push(`all ${type} ${name}`));
    emitTaskEvent({ type: "task-created", task, time: 1 });
    emitTaskEvent({ type: "task-completed", task, time: 2, outcome: "returned" });
    emitWorkerEvent("worker-added", worker);
    await turn();
    some[Symbol.dispose]();
    all[Symbol.dispose]();
    expect(seen).toEqual([
      "all task-created add",
      "some task-completed",
      "all task-completed add",
      "some worker-added",
    ]);
    expect(() => events.on([] as never, () => undefined)).toThrow(InvalidArgument);
    expect(() => events.on(["task-created", "task-begun" as never], () => undefined)).toThrow('no events "task-begun"');
  });

  it("of tasks are wanted while somebody listens, by a handler or on a channel", () => {
    expect(areTasksObserved()).toBe(false);
    const workers = events.on("worker", () => undefined);
    expect(areTasksObserved()).toBe(false);
    const handler = events.on("task-stopped", () => undefined);
    expect(areTasksObserved()).toBe(true);
    handler[Symbol.dispose]();
    handler[Symbol.dispose]();
    workers[Symbol.dispose]();
    expect(areTasksObserved()).toBe(false);
    const note = () => undefined;
    subscribe("wool:task-started", note);
    expect(areTasksObserved()).toBe(true);
    unsubscribe("wool:task-started", note);
    expect(areTasksObserved()).toBe(false);
  });

  it("are not told to what is no function", () => {
    const subscribe = (): Disposable => events.on("worker-added", "log" as never);
    expect(subscribe).toThrow(InvalidArgument);
    expect(subscribe).toThrow('events.on() takes a type and a function that gets the events, not "log"');
  });
});
