import { setImmediate as turn } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { Call } from "../call/call.ts";
import { CallGroup } from "../call/call-group.ts";
import type { CallExtras, PoolReference, StreamSink } from "../call/call-parties.ts";
import { PoolDirectory, payloadFiles } from "../host/index.ts";
import type { Route } from "../routine/route.ts";
import { decode } from "../values/index.ts";
import { LAST_REQUEST_FIELD, RequestField, StepKind } from "../wire/fields.ts";
import { FrameReader } from "../wire/frame-reader.ts";
import { Outbox } from "../wire/outbox.ts";
import { Payload } from "../wire/payload.ts";
import {
  CancelField,
  CreditField,
  DependencyField,
  PoolReferenceField,
  RouteField,
  StepField,
  TaskField,
} from "../wire/request-frames.ts";
import { DispatchWindow } from "./dispatch-window.ts";
import { RequestSender } from "./request-sender.ts";
import { SentTask, type TaskSession } from "./sent-task.ts";

const NAMES = new Map<number, string>(Object.entries(RequestField).map(([name, field]) => [field, name]));
const LARGE = 300 * 1024;

function route(number: number, changes: Partial<Route> = {}): Route {
  const code = Uint8Array.of(number);
  return {
    number,
    name: `r${number}`,
    code,
    dependencies: [],
    weak: [],
    streams: false,
    method: false,
    serializer: undefined,
    fresh: false,
    replaces: 0,
    ...changes,
  };
}

function makeCall(of: Route, args: Payload): Call {
  const call = new Call(
    of,
    new CallGroup(),
    () => undefined,
    () => undefined,
  );
  call.args = args;
  return call;
}

/** A task that belongs to no session. */
function taskOf(call: Call, id: number): SentTask {
  const task = new SentTask(id, {} as TaskSession);
  task.begin(call);
  return task;
}

/** A sender whose messages can be read. */
function makeSender() {
  const messages: Buffer[] = [];
  const window = new DispatchWindow();
  const sink = {
    writable: true,
    send(message: Buffer): boolean {
      messages.push(Buffer.from(message));
      return sink.writable;
    },
  };
  const outbox = new Outbox(sink, 0, RequestField.chunk);
  const sender = new RequestSender(outbox, window);
  let lastId = -1;
  return {
    sender,
    window,
    outbox,
    sink,
    call(
      of: Route,
      bytes = Uint8Array.of(1),
      extras?: CallExtras,
      pool?: PoolReference,
      stream?: StreamSink,
    ): SentTask {
      const made = makeCall(of, Payload.inMemory(bytes));
      made.extras = extras;
      made.pool = pool;
      made.stream = stream;
      const task = taskOf(made, ++lastId);
      sender.task(task, made);
      return task;
    },
    /** What was sent since the last call: the names of the frames, and a reading of each. */
    frames<T>(read: (name: string, frame: FrameReader) => T): T[] {
      outbox.flush();
      const found: T[] = [];
      for (const message of messages.splice(0)) {
        const frame = new FrameReader(LAST_REQUEST_FIELD).open(message, 0, message.length);
        for (let kind = frame.next(); kind !== 0; kind = frame.next()) found.push(read(NAMES.get(kind) ?? "?", frame));
      }
      return found;
    },
  };
}

const name = (frame: string) => frame;

const directory = new PoolDirectory();
afterAll(async () => {
  await directory.dispose();
});

describe("RequestSender", () => {
  it("announces a routine before its first task, once", () => {
    const { call, frames } = makeSender();
    call(route(1));
    call(route(1));
    call(route(2));
    expect(
      frames((kind, frame) => [kind, frame.integer(kind === "route" ? RouteField.number : TaskField.route)]),
    ).toEqual([
      ["route", 1],
      ["task", 1],
      ["task", 1],
      ["route", 2],
      ["task", 2],
    ]);
  });

  it("announces a routine again that another one has replaced", () => {
    const { call, frames } = makeSender();
    call(route(1));
    call(route(2, { replaces: 1 }));
    expect(frames((kind, frame) => (kind === "route" ? frame.integer(RouteField.replaces) : kind))).toEqual([
      0,
      "task",
      1,
      "task",
    ]);
    call(route(1));
    expect(frames(name)).toEqual(["route", "task"]);
  });

  it("announces a pool before its first task, once and when it has changed, and names it in each", () => {
    const { call, frames } = makeSender();
    const pool = {
      number: 7,
      version: 3,
      balancer: undefined,
      describe: (since: number) => Buffer.from(`${since} to ${pool.version}`),
    };
    call(route(1), undefined, undefined, pool);
    call(route(1), undefined, { timeout: 5 }, pool);
    pool.version = 4;
    call(route(1), undefined, undefined, pool);
    const seen = frames((kind, frame) => {
      if (kind === "pool")
        return [frame.integer(PoolReferenceField.number), frame.text(PoolReferenceField.description)];
      return kind === "task" ? frame.integer(TaskField.pool) : kind;
    });
    expect(seen).toEqual(["route", [7, "0 to 3"], 7, 7, [7, "3 to 4"], 7]);
  });

  it("sends a dependency once, whoever needs it", () => {
    const { call, frames } = makeSender();
    const [a, b] = [
      { hash: "a", data: { n: 1 } },
      { hash: "b", data: null },
    ];
    call(route(1, { dependencies: [a] }), undefined, { dependencies: [b, a] });
    call(route(1), undefined, { dependencies: [b] });
    const seen = frames((kind, frame) => {
      if (kind === "dependency") return frame.text(DependencyField.hash);
      return [kind, frame.integers(kind === "route" ? RouteField.needs : TaskField.needs)];
    });
    expect(seen).toEqual(["a", ["route", [1]], "b", ["task", [2, 1]], ["task", [2]]]);
  });

  it("writes what a call says beyond its arguments", () => {
    const { call, frames } = makeSender();
    call(route(1), Uint8Array.of(9, 8), { timeout: 5, caller: "c-1", context: Uint8Array.of(3) });
    const [task] = frames((kind, frame) => ({
      kind,
      args: [...frame.view(TaskField.args)],
      timeout: frame.integer(TaskField.timeout),
      caller: frame.text(TaskField.caller),
      context: [...frame.view(TaskField.context)],
    })).filter(({ kind }) => kind === "task");
    expect(task).toEqual({ kind: "task", args: [9, 8], timeout: 5, caller: "c-1", context: [3] });
  });

  it("sends only the arguments' part of their buffer", () => {
    const { sender, frames } = makeSender();
    const made = makeCall(route(1), Payload.inMemory(Uint8Array.of(0, 1, 2, 3, 4), 1, 4));
    const task = taskOf(made, 5);
    sender.task(task, made);
    const tasks = frames((kind, frame) => [kind, frame.integer(TaskField.id), [...frame.view(TaskField.args)]]);
    expect(tasks[1]).toEqual(["task", 5, [1, 2, 3]]);
    expect(task.isWritten).toBe(true);
  });

  it("allows a generator its first step and its prefetch, and opens its stream then", () => {
    const { call, frames } = makeSender();
    let opened = 0;
    const stream = {
      opened: () => void opened++,
      yielded: () => true,
      cancelled: () => undefined,
    };
    call(route(1, { streams: true }), undefined, { prefetch: 4 }, undefined, stream);
    expect(frames((kind, frame) => (kind === "credit" ? frame.integer(CreditField.steps) : kind))).toEqual([
      "route",
      "task",
      5,
    ]);
    expect(opened).toBe(1);
  });

  it("counts a call as sent when its arguments are out, a few at a time", async () => {
    const { call, window, sink, outbox } = makeSender();
    window.pace(600);
    sink.writable = false;
    const calls = Array.from({ length: 6 }, () => call(route(1), new Uint8Array(LARGE)));
    expect(window.room).toBe(10 - 2);
    expect(calls.map(({ isWritten }) => isWritten)).toEqual(Array.from({ length: 6 }, () => false));
    sink.writable = true;
    outbox.drained();
    while (calls.some(({ isWritten }) => !isWritten)) await turn();
    expect(window.room).toBe(10 - 6);
  });

  it("a call that is cancelled while its arguments go out counts once, and sends no more of them", async () => {
    const { call, sender, window, sink, outbox, frames } = makeSender();
    window.pace(600);
    sink.writable = false;
    const made = call(route(1), new Uint8Array(LARGE));
    frames(name);
    sender.cancel(made, undefined);
    expect(window.room).toBe(10 - 1);
    sink.writable = true;
    outbox.drained();
    await turn();
    await turn();
    expect(frames(name)).toEqual(["cancel"]);
  });

  it("tells why a call is cancelled, if the reason can travel", () => {
    const { call, sender, frames } = makeSender();
    const made = call(route(1));
    sender.cancel(made, new RangeError("late"));
    sender.cancel(made, new WeakRef({}));
    const reasons = frames((kind, frame) => ({ kind, bytes: Buffer.from(frame.view(CancelField.reason)) })).filter(
      ({ kind }) => kind === "cancel",
    );
    expect(reasons.map(({ bytes }) => (bytes.length === 0 ? undefined : decode(bytes)))).toEqual([
      new RangeError("late"),
      undefined,
    ]);
  });

  it("keeps the order of a generator's steps behind a large one", async () => {
    const { call, sender, frames } = makeSender();
    const made = call(route(1, { streams: true }));
    frames(name);
    sender.step(made, StepKind.next, new Uint8Array(LARGE), 0, true);
    sender.credit(made, 1, true);
    sender.step(made, StepKind.return, "r", 2, true);
    expect(frames(name)).toEqual([]);
    const seen: unknown[] = [];
    const read = (kind: string, frame: FrameReader) => {
      if (kind === "chunk") return;
      seen.push(kind === "credit" ? "credit" : [frame.integer(StepField.kind), frame.integer(StepField.after)]);
    };
    while (seen.length < 3) {
      await turn();
      frames(read);
    }
    expect(seen).toEqual([[StepKind.next, 0], "credit", [StepKind.return, 2]]);
  });

  it("uses the routine's serializer for what is sent to a generator", () => {
    const { call, sender, frames } = makeSender();
    const serializer = { dumps: (value: unknown) => Buffer.from(String(value)), loads: () => undefined };
    const made = call(route(1, { streams: true }), undefined, { serializer });
    sender.step(made, StepKind.next, "value", 1, true);
    expect(frames((kind, frame) => (kind === "step" ? frame.text(StepField.value) : kind))).toEqual([
      "route",
      "task",
      "value",
    ]);
  });

  it.skipIf(payloadFiles.realm === "")("arguments in a file are the same at the second worker", () => {
    payloadFiles.useDirectory(directory.bulkDirectory());
    const bytes = new Uint8Array(100_000).fill(7);
    const made = makeCall(route(1), Payload.inStore(payloadFiles, payloadFiles.put(bytes) ?? "", bytes.length));
    const sent = ["refuses", "takes"].map(() => {
      const { sender, frames } = makeSender();
      sender.task(taskOf(made, 0), made);
      // A file that was read is reused for the next payload.
      payloadFiles.put(new Uint8Array(bytes.length).fill(8));
      return frames((kind, frame) => (kind === "task" ? Buffer.from(frame.view(TaskField.args)) : kind)).at(-1);
    });
    expect(sent.map((args) => Buffer.compare(Buffer.from(args ?? ""), bytes))).toEqual([0, 0]);
  });

  it.skipIf(payloadFiles.realm === "")("names the file of arguments to a worker that can read it", () => {
    const { outbox, sender, frames } = makeSender();
    outbox.store = payloadFiles;
    const made = makeCall(route(1), Payload.inStore(payloadFiles, "/somewhere/file", 100_000));
    sender.task(taskOf(made, 0), made);
    expect(
      frames((kind, frame) => [kind, frame.text(TaskField.file), frame.integer(TaskField.chunked)]).at(-1),
    ).toEqual(["task", "/somewhere/file", 100_000]);
  });
});
