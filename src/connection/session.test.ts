import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, describe, expect, it, vi } from "vitest";
import { Call } from "../call/call.ts";
import { CallGroup } from "../call/call-group.ts";
import { CallPack } from "../call/call-pack.ts";
import type { CallExtras, CallOwner } from "../call/call-parties.ts";
import { RemoteFailure } from "../call/remote-failure.ts";
import {
  CodeUnavailable,
  RpcError,
  TransientRpcError,
  UnexpectedResponse,
  VersionMismatch,
  WorkerLost,
} from "../errors.ts";
import { type GrpcChannel, type GrpcStatus, type GrpcStreamHandlers, StatusCode } from "../grpc/index.ts";
import { PoolDirectory, payloadFiles } from "../host/index.ts";
import type { Route } from "../routine/route.ts";
import { encode } from "../values/index.ts";
import { BatchWriter } from "../wire/batch-writer.ts";
import { LAST_REQUEST_FIELD, RequestField, ResponseField } from "../wire/fields.ts";
import { FrameReader } from "../wire/frame-reader.ts";
import { writeFrame } from "../wire/frame-writer.ts";
import { Payload, type PayloadPlace } from "../wire/payload.ts";
import { HelloField, TaskField } from "../wire/request-frames.ts";
import {
  type OutcomeFrame,
  writeAccepted,
  writeExecutorLost,
  writeOutcome,
  writePace,
  writeRejected,
  writeResults,
  writeWelcome,
} from "../wire/response-frames.ts";
import { PROTOCOL_VERSION } from "../wire/version.ts";
import { SentTask } from "./sent-task.ts";
import { Session } from "./session.ts";

const LARGE = 300 * 1024;
const ROUTE: Route = {
  number: 1,
  name: "add",
  code: Uint8Array.of(1),
  dependencies: [],
  weak: [],
  streams: false,
  method: false,
  serializer: undefined,
  fresh: false,
  replaces: 0,
};

const directory = new PoolDirectory();
afterAll(async () => {
  await directory.dispose();
});

/** The worker's end of a session, in memory. */
class FakeStream {
  readonly session: Session;
  readonly events = { progressed: vi.fn(), activity: vi.fn(), waitedFor: vi.fn(), closed: vi.fn() };
  /** Kind and id of every frame that was sent. */
  readonly received: { kind: number; id: number; hello?: unknown[] }[] = [];
  state: "open" | "cancelled" | "ended" = "open";
  writable = true;
  messages = 0;
  #handlers: GrpcStreamHandlers | undefined;

  constructor(address = "127.0.0.1:1") {
    const channel = {
      openStream: (_path: string, handlers: GrpcStreamHandlers) => {
        this.#handlers = handlers;
        return { send: (framed: Buffer) => this.#read(framed), cancel: () => this.#cancel() };
      },
    } as unknown as GrpcChannel;
    this.session = new Session(channel, address, 3, this.events);
  }

  /** Sends frames to the caller as one message. An error that its handler throws ends the stream, as in a real one. */
  answer(...frames: ((writer: BatchWriter) => void)[]): void {
    const writer = new BatchWriter(0);
    for (const frame of frames) frame(writer);
    const message = writer.take();
    if (this.state !== "open") return;
    try {
      this.#handlers?.message(message, 0, message.length);
    } catch (error) {
      this.end({ code: StatusCode.INTERNAL, message: error instanceof Error ? error.message : String(error) });
    }
  }

  end(status: GrpcStatus): void {
    if (this.state === "ended") return;
    this.state = "ended";
    this.#handlers?.status(status);
  }

  drain(): void {
    this.writable = true;
    this.#handlers?.drain?.();
  }

  welcome(sharesFiles = false, takesPacks = false): this {
    this.answer((writer) =>
      writeWelcome(writer, {
        version: PROTOCOL_VERSION,
        workerUid: "w-1",
        lanes: 4,
        maxConcurrency: 8,
        sharesFiles,
        takesPacks,
      }),
    );
    return this;
  }

  /** Ids of the frames of a kind that were sent. */
  ids(kind: number): number[] {
    return this.received.filter((frame) => frame.kind === kind).map(({ id }) => id);
  }

  #read(framed: Buffer): boolean {
    this.messages++;
    const frame = new FrameReader(LAST_REQUEST_FIELD).open(Buffer.from(framed), 5, framed.length);
    for (let kind = frame.next(); kind !== 0; kind = frame.next()) {
      const hello =
        kind === RequestField.hello
          ? [frame.integer(HelloField.version), frame.integer(HelloField.lane), frame.text(HelloField.fileRealm)]
          : undefined;
      this.received.push({ kind, id: frame.integer(TaskField.id), ...(hello === undefined ? {} : { hello }) });
    }
    return this.writable;
  }

  #cancel(): void {
    this.state = "cancelled";
    process.nextTick(() => this.end({ code: StatusCode.CANCELLED, message: "cancelled" }));
  }
}

/** The worker that calls are handed to. */
const WORKER = { uid: "w-1", tally: { inFlight: 0, done: 0, failed: 0 } };

/** A call that keeps everything it is told. */
function makeCall(bytes = Uint8Array.of(1), extras?: CallExtras) {
  const told: unknown[] = [];
  const owner: CallOwner = {
    withdraw: () => undefined,
    rejected: (_call, error) => void told.push(["rejected", error]),
    returned: (_call, error) => void told.push(["returned", error]),
    remade: (call) => void told.push(["remade", call, call.recipient?.uid]),
    lost: (_call, error) => void told.push(["lost", error]),
  };
  const call = new Call(
    ROUTE,
    new CallGroup(),
    (value) => void told.push(["resolved", value]),
    (failure) => void told.push(["failed", failure instanceof RemoteFailure ? failure.error : failure]),
  );
  call.extras = extras;
  call.args = Payload.inMemory(bytes);
  call.waitAt(owner);
  return { call, told, owner };
}

function send(session: Session, ...calls: Call[]): void {
  session.send(calls, WORKER);
}

/** The task of the call in its session. */
function taskOf({ task }: Call): SentTask {
  if (!(task instanceof SentTask)) throw new Error("the call is in no session");
  return task;
}

const outcome =
  (frame: OutcomeFrame, id: number, value: unknown, needs: readonly number[] = [], control = false) =>
  (writer: BatchWriter) =>
    writeOutcome(writer, frame, id, { bytes: encode(value) }, needs, control);
const placed =
  (id: number, place: PayloadPlace, kind: OutcomeFrame = ResponseField.result) =>
  (writer: BatchWriter) =>
    writeOutcome(writer, kind, id, place, [], false);
const result = (id: number, value: unknown) => outcome(ResponseField.result, id, value);
const accepted = (id: number) => (writer: BatchWriter) => writeAccepted(writer, id);

describe("opening a session", () => {
  it("begins with a hello, and is open when welcomed", async () => {
    const stream = new FakeStream();
    expect(stream.received).toEqual([
      { kind: RequestField.hello, id: PROTOCOL_VERSION, hello: [PROTOCOL_VERSION, 3, ""] },
    ]);
    expect(stream.session.isOpen).toBe(false);
    stream.welcome();
    expect(stream.session.isOpen).toBe(true);
    expect(await stream.session.welcome).toMatchObject({ workerUid: "w-1", lanes: 4, maxConcurrency: 8 });
  });

  it("offers files only over a socket of this machine", () => {
    const [hello] = new FakeStream("unix:/a.sock").received;
    const [remote] = new FakeStream("10.0.0.1:1").received;
    expect(hello?.hello?.[2]).not.toBe(remote?.hello?.[2]);
    expect(remote?.hello?.[2]).toBe("");
  });

  it("fails with what the worker says", async () => {
    const stream = new FakeStream();
    stream.end({ code: StatusCode.FAILED_PRECONDITION, message: "version 9 needed" });
    await expect(stream.session.welcome).rejects.toThrow(/version 9 needed/);
    expect(stream.events.closed.mock.calls[0]?.[1]).toBeInstanceOf(VersionMismatch);
  });

  it("rejects the welcome with the class of the worker's answer", async () => {
    const stream = new FakeStream();
    stream.end({ code: StatusCode.FAILED_PRECONDITION, message: "version 9 needed" });
    await expect(stream.session.welcome).rejects.toBeInstanceOf(VersionMismatch);
  });
});

describe("calls", () => {
  it("that may be sent soon are one message with those after them", async () => {
    const stream = new FakeStream().welcome();
    const { messages } = stream;
    for (let i = 0; i < 3; i++) stream.session.send([makeCall().call], WORKER, true);
    expect([stream.messages - messages, stream.session.inFlight]).toEqual([0, 3]);
    await new Promise((resolve) => process.nextTick(resolve));
    expect([stream.messages - messages, stream.ids(RequestField.task)]).toEqual([1, [0, 1, 2]]);
  });

  it("of one send are one message, and each gets its own answer", () => {
    const stream = new FakeStream().welcome();
    const [a, b, c] = [makeCall(), makeCall(), makeCall()];
    send(stream.session, b.call, c.call);
    expect(stream.ids(RequestField.task)).toEqual([0, 1]);
    expect(stream.session.inFlight).toBe(2);
    stream.answer(result(1, "c"), outcome(ResponseField.raised, 0, new RangeError("b")));
    expect([a.told, b.told, c.told]).toEqual([[], [["failed", new RangeError("b")]], [["resolved", "c"]]]);
    expect(stream.session.inFlight).toBe(0);
  });

  it("are counted for their worker", () => {
    const stream = new FakeStream().welcome();
    const worker = { uid: "w-2", tally: { inFlight: 0, done: 0, failed: 0 } };
    const calls = [makeCall().call, makeCall().call, makeCall().call];
    stream.session.send(calls, worker);
    expect(worker.tally).toEqual({ inFlight: 3, done: 0, failed: 0 });
    expect([stream.session.callsOf(worker), stream.session.callsOf(WORKER)]).toEqual([calls, []]);
    stream.answer(result(0, 1), result(1, 1), outcome(ResponseField.raised, 2, 1));
    expect(worker.tally).toEqual({ inFlight: 0, done: 2, failed: 1 });
  });

  it("hear when they were handed over and when they were started, once", () => {
    const stream = new FakeStream().welcome();
    const { call } = makeCall();
    const heard: string[] = [];
    call.watch({ sent: () => heard.push("handed"), started: () => heard.push("started") });
    send(stream.session, call);
    stream.answer(accepted(0));
    expect([call.state, stream.session.window.room]).toEqual(["running", 1]);
    stream.answer(accepted(0), result(0, 1));
    expect(heard).toEqual(["handed", "started"]);
    expect([call.state, stream.session.window.room]).toEqual(["ended", 1]);
  });

  it("that were refused go back to their owner, with the class of the refusal", () => {
    const stream = new FakeStream().welcome();
    const [a, b] = [makeCall(), makeCall()];
    send(stream.session, a.call, b.call);
    stream.answer(
      (writer) => writeRejected(writer, 0, { status: StatusCode.RESOURCE_EXHAUSTED, message: "full" }),
      (writer) => writeRejected(writer, 1, { status: StatusCode.INTERNAL, message: "what?" }),
    );
    expect(a.told).toEqual([["rejected", expect.any(TransientRpcError)]]);
    expect(b.told).toEqual([["rejected", expect.any(RpcError)]]);
    expect([a.call.state, a.call.task, stream.session.inFlight]).toEqual(["settling", undefined, 0]);
    expect(stream.session.window.room).toBe(1);
  });

  it("whose code the worker does not have are made anew for it, or fail", () => {
    const stream = new FakeStream().welcome();
    const [a, b, c] = [makeCall(), makeCall(), makeCall()];
    a.call.remake = (_call, hashes) => hashes.join() === "h1,h2";
    b.call.remake = () => {
      throw new RangeError("cannot travel");
    };
    send(stream.session, a.call, b.call, c.call);
    const wants = (id: number) => (writer: BatchWriter) =>
      writeRejected(writer, id, { status: StatusCode.NOT_FOUND, message: "no such module", codeWanted: ["h1", "h2"] });
    stream.answer(wants(0), wants(1), wants(2));
    expect(a.told).toEqual([["remade", a.call, "w-1"]]);
    expect(b.told).toEqual([["failed", new RangeError("cannot travel")]]);
    expect(c.told).toEqual([["failed", expect.any(CodeUnavailable)]]);
    expect([stream.session.inFlight, stream.session.window.room]).toEqual([0, 1]);
  });

  it("whose answer cannot be read fail, and nothing else does", () => {
    const stream = new FakeStream().welcome();
    const [a, b] = [makeCall(), makeCall()];
    send(stream.session, a.call, b.call);
    stream.answer(placed(0, { bytes: Uint8Array.of(255, 255, 255) }), result(1, "fine"));
    expect(a.told).toEqual([["failed", expect.any(UnexpectedResponse)]]);
    expect(b.told).toEqual([["resolved", "fine"]]);
    expect(stream.session.isOpen).toBe(true);
  });

  it.each([
    ["needs what was never sent", outcome(ResponseField.result, 0, "x", [99])],
    ["names chunks that never came", placed(0, { chunked: 500 })],
    ["names a file that is none", placed(0, { chunked: 5, file: "/etc/hostname" })],
  ])("whose answer %s are told, once, like all others of the session", async (_what, answer) => {
    const stream = new FakeStream().welcome();
    const [a, b] = [makeCall(), makeCall()];
    send(stream.session, a.call, b.call);
    stream.answer(answer);
    await turn();
    expect(stream.session.isOpen).toBe(false);
    expect(b.told).toHaveLength(1);
    expect(a.told).toHaveLength(1);
  });

  it("get large answers in one piece", () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makeCall();
    send(stream.session, call);
    const bytes = encode("x".repeat(1000));
    const chunk = (from: number, to: number) => (writer: BatchWriter) =>
      writeFrame(writer, ResponseField.chunk, [undefined, 0, bytes.subarray(from, to), from === 0 ? bytes.length : 0]);
    stream.answer(chunk(0, 400));
    stream.answer(chunk(400, bytes.length), placed(0, { chunked: bytes.length }));
    expect(told).toEqual([["resolved", "x".repeat(1000)]]);
  });

  it("with a serializer of their own have their answers read by it", () => {
    const stream = new FakeStream().welcome();
    const serializer = { dumps: () => new Uint8Array(0), loads: (bytes: Uint8Array) => Buffer.from(bytes).toString() };
    const { call, told } = makeCall(undefined, { serializer });
    send(stream.session, call);
    stream.answer(placed(0, { bytes: Buffer.from("own format") }));
    expect(told).toEqual([["resolved", "own format"]]);
  });

  it.skipIf(payloadFiles.realm === "")("with a serializer that keeps the bytes it is given may do so", () => {
    payloadFiles.useDirectory(directory.bulkDirectory());
    const stream = new FakeStream("unix:/a.sock").welcome(true);
    const serializer = { dumps: () => new Uint8Array(0), loads: (bytes: Uint8Array) => bytes };
    const calls = [7, 8].map(() => makeCall(undefined, { serializer }));
    send(stream.session, ...calls.map(({ call }) => call));
    for (const id of [0, 1]) {
      const file = payloadFiles.put(new Uint8Array(100_000).fill(7 + id)) ?? "";
      stream.answer(placed(id, { chunked: 100_000, file }));
    }
    const values = calls.map(({ told }) => (told[0] as [string, Uint8Array])[1]);
    expect(values.map((bytes) => [bytes.length, bytes[0], bytes.at(-1)])).toEqual([
      [100_000, 7, 7],
      [100_000, 8, 8],
    ]);
  });

  it.skipIf(payloadFiles.realm === "")(
    "does not wait for a large answer to another one that is being read",
    async () => {
      payloadFiles.useDirectory(directory.bulkDirectory());
      const stream = new FakeStream("unix:/a.sock").welcome(true);
      const [large, small, cancelled] = [makeCall(), makeCall(), makeCall()];
      send(stream.session, large.call, small.call, cancelled.call);
      const bytes = encode(new Uint8Array(5_000_000).fill(7));
      const stored = (id: number) => placed(id, { chunked: bytes.length, file: payloadFiles.put(bytes) ?? "" });
      stream.answer(stored(0), stored(2), placed(1, { bytes: encode("small") }));
      expect([large.told, small.told]).toEqual([[], [["resolved", "small"]]]);
      // The worker may be gone before the file has been read.
      stream.end({ code: StatusCode.UNAVAILABLE, message: "gone" });
      cancelled.call.cancel("changed my mind");
      await vi.waitFor(() => expect(large.told).toHaveLength(1));
      const [[how, value]] = large.told as [[string, Uint8Array]];
      expect([how, value.length, value[0], value.at(-1)]).toEqual(["resolved", 5_000_000, 7, 7]);
      expect(cancelled.told).toEqual([["failed", "changed my mind"]]);
    },
  );

  it.skipIf(payloadFiles.realm === "")("has the values of a stream in order, however large they are", async () => {
    payloadFiles.useDirectory(directory.bulkDirectory());
    const stream = new FakeStream("unix:/a.sock").welcome(true);
    const { call, told } = makeCall();
    const values: unknown[] = [];
    call.stream = {
      opened: () => undefined,
      cancelled: () => undefined,
      yielded: (value) => values.push(value instanceof Uint8Array ? value.length : value) > 0,
    };
    send(stream.session, call);
    const step = (value: unknown, file: boolean) => {
      const bytes = encode(value);
      const place = file ? { chunked: bytes.length, file: payloadFiles.put(bytes) ?? "" } : { bytes };
      return placed(0, place, ResponseField.yielded);
    };
    stream.answer(step(new Uint8Array(4_000_000), true), step("a", false), step(new Uint8Array(3_000_000), true));
    stream.answer(placed(0, { bytes: encode("end") }));
    expect([values, told]).toEqual([[], []]);
    await vi.waitFor(() => expect(told).toEqual([["resolved", "end"]]));
    expect(values).toEqual([4_000_000, "a", 3_000_000]);
  });

  it("is waited for between the steps of a stream only if another call is under way", () => {
    const stream = new FakeStream().welcome();
    const [{ call: steps }, { call: other }] = [makeCall(), makeCall()];
    const told = (): boolean[] =>
      stream.events.waitedFor.mock.calls.map(([isWaitedFor]: boolean[]) => isWaitedFor === true);
    send(stream.session, steps);
    steps.task?.setWaitedFor(false);
    steps.task?.setWaitedFor(false);
    expect(told()).toEqual([true, false]);
    send(stream.session, other);
    steps.task?.setWaitedFor(true);
    steps.task?.setWaitedFor(false);
    expect(told()).toEqual([true, false, true]);
    stream.answer(result(1, 3));
    expect(told()).toEqual([true, false, true, false]);
    stream.answer(result(0, 3));
    expect([told().length, stream.session.inFlight, steps.task]).toEqual([4, 0, undefined]);
    send(stream.session, other);
    stream.session.close(new WorkerLost("gone"));
    expect(told().slice(4)).toEqual([true, false]);
  });

  it("of generators get their steps", () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makeCall();
    const steps: unknown[] = [];
    call.stream = {
      opened: () => steps.push("opened"),
      yielded: (value, control) => steps.push([value, control]) > 0,
      cancelled: () => steps.push("cancelled"),
    };
    send(stream.session, call);
    stream.answer(outcome(ResponseField.yielded, 0, 1), outcome(ResponseField.yielded, 0, 2, [], true), result(0, 3));
    expect(steps).toEqual(["opened", [1, false], [2, true]]);
    expect(told).toEqual([["resolved", 3]]);
  });

  it("ask for more at a pace that the worker tells", () => {
    const stream = new FakeStream().welcome();
    stream.answer((writer) => writePace(writer, 100, 100));
    expect(stream.session.window.room).toBe(60);
    expect(stream.events.progressed).toHaveBeenCalledWith(stream.session);
  });
});

describe("packs", () => {
  function makePack(size = 3) {
    const told: unknown[] = [];
    const pack = new CallPack(
      Array.from({ length: size }, () => 1),
      {
        succeeded: (first, values) => values.forEach((value, i) => void told.push([first + i, value])),
        failed: (index, failure) => told.push([index, (failure as RemoteFailure).error]),
      },
    );
    const call = new Call(
      ROUTE,
      new CallGroup(),
      () => expect.unreachable(),
      (failure) => pack.fail(failure),
      pack,
    );
    call.args = Payload.inMemory(new Uint8Array(size));
    const owner: CallOwner = {
      withdraw: () => undefined,
      rejected: (refused, error) => refused.fail(error),
      returned: (_call, error) => void told.push(["returned", error]),
      remade: () => undefined,
      lost: (lost, error) => lost.lose(owner, error),
    };
    call.waitAt(owner);
    return { call, told };
  }

  const result =
    (id: number, value: unknown, item = 0) =>
    (writer: BatchWriter): void =>
      writeOutcome(writer, ResponseField.result, id, { bytes: encode(value) }, [], false, item);
  const results =
    (id: number, item: number, ...values: Uint8Array[]) =>
    (writer: BatchWriter): void =>
      writeResults(
        writer,
        id,
        item,
        Buffer.concat(values),
        values.map(({ length }) => length),
      );
  const raised =
    (id: number, error: Error, item = 0) =>
    (writer: BatchWriter): void =>
      writeOutcome(writer, ResponseField.raised, id, { bytes: encode(error) }, [], false, item);

  it("are one task that is answered call by call, and take as much room as they have calls", () => {
    const stream = new FakeStream().welcome(false, true);
    stream.answer((writer) => writePace(writer, 100, 100));
    const { room } = stream.session;
    const { call, told } = makePack();
    stream.session.send([call], WORKER);
    expect([stream.ids(RequestField.task), room - stream.session.room]).toEqual([[0], 3]);
    stream.answer(result(0, "c", 3), raised(0, new RangeError("a"), 1));
    expect(told).toEqual([
      [2, "c"],
      [0, new RangeError("a")],
    ]);
    expect([room - stream.session.room, stream.session.inFlight]).toEqual([0, 1]);
    stream.answer(result(0, "b", 2));
    expect([told.at(-1), stream.session.inFlight, call.state]).toEqual([[1, "b"], 0, "ended"]);
  });

  it("take several results in one frame", () => {
    const stream = new FakeStream().welcome(false, true);
    const { call, told } = makePack(4);
    stream.session.send([call], WORKER);
    stream.answer(results(0, 2, encode("b"), Uint8Array.of(255, 255), encode("d")));
    expect(told).toEqual([
      [1, "b"],
      [2, expect.any(UnexpectedResponse)],
      [3, "d"],
    ]);
    expect([stream.session.inFlight, call.state]).toEqual([1, "running"]);
    stream.answer(results(0, 1, encode("a")));
    expect([told.at(-1), stream.session.inFlight, call.state]).toEqual([[0, "a"], 0, "ended"]);
  });

  it("do not take results in a frame that they do not fit", () => {
    for (const lengths of [[], [1], [1, 9], [2 ** 31]]) {
      const stream = new FakeStream().welcome(false, true);
      const { call, told } = makePack(2);
      stream.session.send([call], WORKER);
      stream.answer((writer) => {
        const value = Buffer.concat([encode("a"), encode("b")]);
        // An empty list is left out, so it is written as a text.
        const items = lengths.length === 0 ? [""] : lengths;
        const none = undefined;
        writeFrame(writer, ResponseField.result, [none, 0, value, none, none, none, none, 1, items]);
      });
      expect(told).toEqual([
        [0, expect.any(Error)],
        [1, expect.any(Error)],
      ]);
    }
    const stream = new FakeStream().welcome(false, true);
    const single = makeCall();
    stream.session.send([single.call], WORKER);
    stream.answer(results(0, 0, encode("a"), encode("b")));
    expect(single.told).toEqual([["failed", expect.any(UnexpectedResponse)]]);
  });

  it("fail in all calls that are left when the worker ends them, or is lost", async () => {
    const stream = new FakeStream().welcome(false, true);
    const [first, second] = [makePack(), makePack()];
    stream.session.send([first.call, second.call], WORKER);
    stream.answer(result(0, "b", 2), raised(0, new RangeError("all")));
    expect(first.told).toEqual([
      [1, "b"],
      [0, new RangeError("all")],
      [2, new RangeError("all")],
    ]);
    stream.answer(result(1, "a", 1));
    stream.end({ code: StatusCode.UNAVAILABLE, message: "gone" });
    expect(second.told).toEqual([
      [0, "a"],
      [1, expect.any(WorkerLost)],
      [2, expect.any(WorkerLost)],
    ]);
  });

  it("are cancelled together, and their id is free when the worker has said its last word", async () => {
    const stream = new FakeStream().welcome(false, true);
    const { call, told } = makePack();
    stream.session.send([call], WORKER);
    stream.answer(result(0, "a", 1));
    call.cancel(new RangeError("enough"));
    await turn();
    expect([told, stream.ids(RequestField.cancel)]).toEqual([
      [
        [0, "a"],
        [1, new RangeError("enough")],
        [2, new RangeError("enough")],
      ],
      [0],
    ]);
    // Both calls had ended before the worker read the cancellation.
    stream.answer(result(0, "b", 2));
    expect(stream.session.inFlight).toBe(1);
    stream.answer(result(0, "c", 3));
    expect(stream.session.inFlight).toBe(0);
    expect(told).toHaveLength(3);
  });

  it("do not let a worker answer twice, for calls that there are not, or all at once", () => {
    for (const wrong of [result(0, "a", 1), result(0, "d", 4), result(0, "all"), raised(0, new RangeError("d"), 9)]) {
      const stream = new FakeStream().welcome(false, true);
      const { call, told } = makePack();
      stream.session.send([call], WORKER);
      stream.answer(result(0, "a", 1));
      stream.answer(wrong);
      expect(told).toEqual([
        [0, "a"],
        [1, expect.any(UnexpectedResponse)],
        [2, expect.any(UnexpectedResponse)],
      ]);
    }
    const stream = new FakeStream().welcome(false, true);
    const single = makeCall();
    stream.session.send([single.call], WORKER);
    stream.answer(result(0, "a", 1));
    expect(single.told).toEqual([["failed", expect.any(UnexpectedResponse)]]);
  });

  it("have an answer that cannot be read fail by itself", () => {
    const stream = new FakeStream().welcome(false, true);
    const { call, told } = makePack(2);
    stream.session.send([call], WORKER);
    stream.answer((writer) =>
      writeOutcome(writer, ResponseField.result, 0, { bytes: Uint8Array.of(255, 255) }, [], false, 1),
    );
    stream.answer(result(0, "b", 2));
    expect(told).toEqual([
      [0, expect.any(UnexpectedResponse)],
      [1, "b"],
    ]);
  });

  it("are taken apart for a worker that takes none", () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makePack();
    stream.session.send([call], WORKER);
    expect(stream.ids(RequestField.task)).toEqual([0, 1, 2]);
    stream.answer(result(1, "b"), result(0, "a"), result(2, "c"));
    expect(told).toEqual([
      [1, "b"],
      [0, "a"],
      [2, "c"],
    ]);
    expect(stream.session.inFlight).toBe(0);
  });
});

describe("cancelling", () => {
  it("tells the worker and ignores whatever it still says", () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makeCall();
    const steps: unknown[] = [];
    call.stream = {
      opened: () => undefined,
      yielded: (value) => steps.push(value) > 0,
      cancelled: () => steps.push("cancelled"),
    };
    send(stream.session, call);
    call.cancel("enough");
    expect(stream.session.window.room).toBe(1);
    stream.answer(accepted(0), outcome(ResponseField.yielded, 0, 1));
    expect(stream.session.inFlight).toBe(1);
    stream.answer(result(0, "late"));
    expect([told, steps, stream.session.inFlight, stream.session.window.room]).toEqual([
      [["failed", "enough"]],
      ["cancelled"],
      0,
      1,
    ]);
  });

  it("one whose refusal is under way is not handed back", () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makeCall();
    send(stream.session, call);
    call.task?.cancel("enough");
    stream.answer((writer) => writeRejected(writer, 0, { status: StatusCode.UNAVAILABLE, message: "stopping" }));
    expect([told, stream.session.inFlight, stream.session.window.room]).toEqual([[], 0, 1]);
  });

  it("one whose arguments are still under way ends it at once: the worker never saw it", async () => {
    const stream = new FakeStream().welcome();
    stream.writable = false;
    const { call } = makeCall(new Uint8Array(LARGE));
    send(stream.session, call);
    call.task?.cancel("enough");
    expect([stream.session.inFlight, stream.session.window.room]).toEqual([0, 1]);
    stream.drain();
    await turn();
    expect(stream.ids(RequestField.task)).toEqual([]);
  });

  it("the same for one that another worker refused before", async () => {
    const [first, second] = [new FakeStream().welcome(), new FakeStream().welcome()];
    const { call } = makeCall(new Uint8Array(LARGE));
    send(first.session, call);
    while (!taskOf(call).isWritten) await turn();
    first.answer((writer) => writeRejected(writer, 0, { status: StatusCode.UNAVAILABLE, message: "stopping" }));
    second.writable = false;
    send(second.session, call);
    call.task?.cancel("enough");
    expect([second.session.inFlight, second.session.window.room]).toEqual([0, 1]);
  });

  it("frees room once for all calls that are cancelled in one turn of the event loop", async () => {
    const stream = new FakeStream().welcome();
    const calls = [makeCall().call, makeCall().call];
    send(stream.session, ...calls);
    stream.events.progressed.mockClear();
    for (const call of calls) call.cancel("enough");
    expect([stream.events.progressed.mock.calls.length, stream.session.room]).toEqual([0, 1]);
    await turn();
    expect(stream.events.progressed).toHaveBeenCalledTimes(1);
  });
});

describe("the end of a session", () => {
  it.each([
    ["its connection", (stream: FakeStream) => stream.end({ code: StatusCode.UNAVAILABLE, message: "gone" }), /gone/],
    [
      "its task thread",
      (stream: FakeStream) => stream.answer((writer) => writeExecutorLost(writer, "out of memory", 2)),
      /out of memory/,
    ],
  ])("with %s tells each call in flight, once, after the owner", async (_what, end, why) => {
    const stream = new FakeStream().welcome();
    const order: string[] = [];
    stream.events.closed.mockImplementation(() => order.push("closed"));
    const [a, b, abandoned] = [makeCall(), makeCall(), makeCall()];
    const told = vi.spyOn(a.owner, "lost").mockImplementation(() => void order.push("lost"));
    send(stream.session, a.call, b.call, abandoned.call);
    abandoned.call.task?.cancel("x");
    end(stream);
    stream.end({ code: StatusCode.UNAVAILABLE, message: "again" });
    stream.session.close(new Error("closed as well"));
    await turn();
    expect(told).toHaveBeenCalledTimes(1);
    expect(b.told).toEqual([["lost", expect.any(WorkerLost)]]);
    expect(b.told).toEqual([["lost", expect.objectContaining({ message: expect.stringMatching(why) })]]);
    expect(abandoned.told).toEqual([]);
    expect(order).toEqual(["closed", "lost"]);
    expect([a.call.state, a.call.task, stream.session.inFlight]).toEqual(["settling", undefined, 0]);
  });

  it("gives back calls in messages that a lost task thread has not begun to read", async () => {
    const stream = new FakeStream().welcome();
    const [taken, untaken] = [makeCall(), makeCall()];
    send(stream.session, taken.call);
    stream.answer((writer) => writeAccepted(writer, 0));
    send(stream.session, untaken.call);
    stream.answer((writer) => writeExecutorLost(writer, "out of memory", 2));
    await turn();
    expect(taken.told).toEqual([["lost", expect.any(WorkerLost)]]);
    expect(untaken.told).toEqual([["returned", expect.any(WorkerLost)]]);
  });

  it("takes all calls for lost when the worker does not say what its thread has read", async () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makeCall();
    send(stream.session, call);
    stream.answer((writer) => writeExecutorLost(writer, "out of memory", 0));
    await turn();
    expect(told).toEqual([["lost", expect.any(WorkerLost)]]);
  });

  it("gives back calls that a worker has not answered although it has answered all that it ran", async () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makeCall();
    send(stream.session, call);
    stream.end({ code: StatusCode.ABORTED, message: "stopped" });
    await turn();
    expect(told).toEqual([["rejected", expect.any(TransientRpcError)]]);
  });

  it("by close cancels the stream and tells calls why", async () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makeCall();
    send(stream.session, call);
    const error = new Error("no longer used");
    stream.session.close(error);
    await turn();
    expect(stream.state).toBe("ended");
    expect(told).toEqual([["lost", error]]);
    expect(stream.events.closed).toHaveBeenCalledTimes(1);
  });

  it("with a status of its own is no lost worker", () => {
    const stream = new FakeStream().welcome();
    const { call, told } = makeCall();
    send(stream.session, call);
    stream.end({ code: StatusCode.INTERNAL, message: "malformed" });
    expect(told).toEqual([["lost", expect.any(RpcError)]]);
  });

  it("a call that was lost while its arguments went out counts at the next session as any other", async () => {
    const [first, second] = [new FakeStream().welcome(), new FakeStream().welcome()];
    first.writable = false;
    const calls = Array.from({ length: 5 }, () => makeCall(new Uint8Array(LARGE)).call);
    send(first.session, ...calls);
    first.end({ code: StatusCode.UNAVAILABLE, message: "gone" });
    for (const call of calls) {
      send(second.session, call);
      while (second.ids(RequestField.task).length === 0) await turn();
      second.received.length = 0;
      expect(second.session.window.room).toBe(0);
      second.answer(result(0, "done"));
      expect(second.session.window.room).toBe(1);
    }
  });
});

describe("a session over time", () => {
  type Action = { readonly kind: "send" | "accept" | "answer" | "reject" | "cancel"; readonly which: number };
  const action: fc.Arbitrary<Action> = fc.record({
    kind: fc.constantFrom("send", "send", "accept", "answer", "reject", "cancel"),
    which: fc.nat(),
  });

  it("uses an id again only after the worker's last word on it, and ends up with nothing", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const stream = new FakeStream().welcome();
        const { session } = stream;
        const atWorker = new Map<number, ReturnType<typeof makeCall>>();
        const cancelled = new Set<Call>();
        const settle = (id: number, kind: Action["kind"]) => {
          const entry = atWorker.get(id);
          atWorker.delete(id);
          if (kind === "reject") {
            stream.answer((writer) => writeRejected(writer, id, { status: StatusCode.UNAVAILABLE, message: "no" }));
          } else stream.answer(result(id, id));
          const expected = kind === "reject" ? ["rejected", expect.any(TransientRpcError)] : ["resolved", id];
          expect(entry?.told).toEqual(entry !== undefined && cancelled.has(entry.call) ? [] : [expected]);
        };
        for (const { kind, which } of actions) {
          const ids = [...atWorker.keys()];
          const id = ids[which % Math.max(1, ids.length)];
          const entry = id === undefined ? undefined : atWorker.get(id);
          if (kind === "send" || id === undefined || entry === undefined) {
            const made = makeCall();
            send(session, made.call);
            const { id: used } = taskOf(made.call);
            expect(atWorker.has(used)).toBe(false);
            atWorker.set(used, made);
          } else if (kind === "accept") stream.answer(accepted(id));
          else if (kind === "cancel") {
            entry.call.task?.cancel("x");
            cancelled.add(entry.call);
          } else settle(id, kind);
          expect(session.inFlight).toBe(atWorker.size);
        }
        for (const id of atWorker.keys()) settle(id, "answer");
        expect([session.inFlight, session.window.room]).toEqual([0, 1]);
        const activity = stream.events.activity.mock.calls.map(([busy]: boolean[]) => busy);
        expect(activity).toEqual(activity.map((_, i) => i % 2 === 0));
        expect(activity.length % 2).toBe(0);
      }),
    );
  });
});
