import { createHook } from "node:async_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { closeSignals, openSignals, takeArrivedSignals } from "../../call/live-signals.ts";
import { encodeContext } from "../../context/context-codec.ts";
import { ContextVar } from "../../context/context-var.ts";
import { TaskCancelled } from "../../errors.ts";
import { PREFIX_BYTES, StatusCode } from "../../grpc/index.ts";
import { currentCallContext } from "../../routine/call-context.ts";
import { RoutineSpec } from "../../routine/routine-spec.ts";
import { currentTask } from "../../routine/task.ts";
import { decode, encode } from "../../values/index.ts";
import { BatchWriter } from "../../wire/batch-writer.ts";
import { ChunkAssembly } from "../../wire/chunk-assembly.ts";
import { DEFAULT_LIMITS } from "../../wire/connection-limits.ts";
import { SentDependencies } from "../../wire/dependency-ledger.ts";
import { LAST_RESPONSE_FIELD, RequestField, ResponseField, StepKind } from "../../wire/fields.ts";
import { FrameReader } from "../../wire/frame-reader.ts";
import { writeFrame } from "../../wire/frame-writer.ts";
import {
  type TaskExtras,
  writeCancel,
  writeCredit,
  writePoolReference,
  writeRoute,
  writeStep,
  writeTask,
} from "../../wire/request-frames.ts";
import { OutcomeField, RejectedField } from "../../wire/response-frames.ts";
import { ConcurrencyPermits } from "../shared/concurrency-permits.ts";
import { ThreadBoard } from "../shared/thread-board.ts";
import { SESSION_PREFIX_BYTES } from "../shared/thread-messages.ts";
import { Executor } from "./executor.ts";

/** What routines do is set here. Their code travels, so they find it under a global name. */
interface Hooks {
  executorTest: { enter: (name: string) => unknown };
}
const hooks = globalThis as unknown as Hooks;

const enter = new RoutineSpec((name: string) => (globalThis as unknown as Hooks).executorTest.enter(name), {}, false);
const countdown = new RoutineSpec(
  function* (from: number): Generator<unknown, unknown, unknown> {
    try {
      for (let i = from; i > 0; i--) yield i;
      return "end";
    } finally {
      (globalThis as unknown as Hooks).executorTest.enter("finally");
    }
  },
  {},
  false,
);
/** Takes steps of a millisecond without an end. */
const slowSteps = new RoutineSpec(
  function* (): Generator<number, void, void> {
    for (let i = 1; ; i++) {
      const end = performance.now() + 1;
      while (performance.now() < end);
      yield i;
    }
  },
  {},
  false,
);
const large = new RoutineSpec((bytes: Uint8Array) => bytes, {}, false);

const KINDS = new Map<number, string>(Object.entries(ResponseField).map(([name, field]) => [field, name]));

/** A caller with one session: writes frames, and reads what comes back. */
class Caller {
  /** The answers: kind, id and value. Paces and chunks are left out. */
  readonly answers: unknown[][] = [];
  /** Bytes that were sent to it and not reported yet. */
  sentBytes = 0;
  writable = true;
  /** How many frames its outcomes came in. */
  frames = 0;
  readonly #executor: Executor;
  readonly #number: number;
  readonly #sent = new SentDependencies();
  readonly #chunks = new ChunkAssembly();
  #writer = new BatchWriter(0);

  constructor(executor: Executor, number: number) {
    this.#executor = executor;
    this.#number = number;
    executor.open(number, `caller${number}`, undefined, { send: (message) => this.#read(message) });
  }

  route(spec: RoutineSpec, number: number, replaces = 0): this {
    const { code, dependencies, fresh } = spec.route();
    const needs = this.#sent.announce(this.#writer, RequestField.dependency, dependencies);
    const { name, streams, method } = spec;
    writeRoute(this.#writer, { number, name, code, needs, streams, method, fresh, replaces });
    return this;
  }

  task(id: number, route: number, args: readonly unknown[], extras: TaskExtras = {}): this {
    writeTask(this.#writer, id, route, { bytes: encode(args) }, id, extras);
    return this;
  }

  /** Several calls in one task, with one argument each. */
  pack(id: number, route: number, items: readonly unknown[], sequence = id): this {
    const encoded = items.map((item) => Uint8Array.from(encode([item])));
    const lengths = encoded.map(({ length }) => length);
    writeTask(this.#writer, id, route, { bytes: Buffer.concat(encoded) }, sequence, { items: lengths });
    return this;
  }

  write(frame: (writer: BatchWriter) => void): this {
    frame(this.#writer);
    return this;
  }

  /** Sends the written frames as one message. */
  send(): void {
    const message = this.#writer.take();
    this.#writer = new BatchWriter(0);
    this.#executor.receive(this.#number, message, 0, message.length);
  }

  /** The answers without `accepted` frames: whether those are sent depends on the duration of tasks. */
  get outcomes(): unknown[][] {
    return this.answers.filter(([kind]) => kind !== "accepted");
  }

  drained(): void {
    this.writable = true;
    this.#executor.sent(this.#number, this.sentBytes);
    this.sentBytes = 0;
  }

  #read(message: Buffer): boolean {
    if (this.writable) this.#executor.sent(this.#number, message.length);
    else this.sentBytes += message.length;
    const frame = new FrameReader(LAST_RESPONSE_FIELD).open(
      Buffer.from(message),
      SESSION_PREFIX_BYTES + PREFIX_BYTES,
      message.length,
    );
    for (let kind = frame.next(); kind !== 0; kind = frame.next()) {
      const id = frame.integer(OutcomeField.id);
      const name = KINDS.get(kind);
      if (kind === ResponseField.chunk) this.#chunks.add(frame);
      else if (kind === ResponseField.rejected) {
        this.answers.push([name, id, frame.integer(RejectedField.status), frame.text(RejectedField.message)]);
      } else if (kind === ResponseField.accepted) this.answers.push([name, id]);
      else if (kind === ResponseField.result || kind === ResponseField.raised || kind === ResponseField.yielded) {
        const chunked = frame.integer(OutcomeField.chunked);
        const bytes = chunked > 0 ? this.#chunks.take(id, chunked) : frame.view(OutcomeField.value);
        const item = frame.integer(OutcomeField.item);
        const lengths = frame.has(OutcomeField.items) ? frame.integers(OutcomeField.items) : [bytes.length];
        let start = 0;
        for (const [index, length] of lengths.entries()) {
          const value = decode(bytes.subarray(start, start + length));
          this.answers.push([name, id, value, ...(item === 0 ? [] : [item + index])]);
          start += length;
        }
        this.frames++;
      }
    }
    return this.writable;
  }
}

let executor: Executor;
let board: ThreadBoard;
let caller: Caller;
let malformed: unknown[][];
let finished: number[];
let drained: number;
let released: number;
let entered: string[];
let gates: Map<string, () => void>;
let isSound: boolean;

function setUp(maxConcurrency: number, permits = ConcurrencyPermits.of(maxConcurrency, 1)): void {
  board = new ThreadBoard();
  malformed = [];
  finished = [];
  drained = 0;
  entered = [];
  gates = new Map();
  released = 0;
  isSound = true;
  hooks.executorTest = {
    enter: (name) => {
      entered.push(name);
      if (name.startsWith("now")) return name;
      return new Promise((resolve) => gates.set(name, () => resolve(name)));
    },
  };
  executor = new Executor({
    uid: "w-1",
    board,
    concurrency: maxConcurrency === 0 ? undefined : { permits, lane: 0, announce: () => expect.unreachable() },
    announcePool: () => ({
      size: 0,
      call: () => Promise.resolve(),
      stream: async function* () {},
      release: () => released++,
    }),
    finished: (session) => finished.push(session),
    malformed: (...told) => malformed.push(told),
    exhausted: () => expect.unreachable(),
    hold: () => undefined,
    isSound: () => isSound,
    drained: () => drained++,
  });
  caller = new Caller(executor, 1).route(enter, 1);
}

/**
 * Waits until everything pending has happened. On a busy machine a time slice may be over before anything was done in
 * it.
 */
async function settle(): Promise<void> {
  for (let i = 0; i < 30; i++) await turn();
}

function end(name: string): void {
  gates.get(name)?.();
  gates.delete(name);
}

beforeEach(() => setUp(0));
afterEach(() => {
  for (const open of gates.values()) open();
  Reflect.deleteProperty(globalThis, "executorTest");
});

describe("the executor", () => {
  it("runs tasks and answers, those that take a while after it was told that they have been started", async () => {
    caller.task(0, 1, ["now"]).task(1, 1, ["later"]).send();
    await settle();
    expect(caller.answers).toEqual([
      ["result", 0, "now"],
      ["accepted", 1],
    ]);
    expect([executor.isIdle, board.live, board.lastEnded > 0]).toEqual([false, 1, true]);
    end("later");
    await settle();
    expect(caller.answers.at(-1)).toEqual(["result", 1, "later"]);
    expect([executor.isIdle, board.live]).toEqual([true, 0]);
  });

  it("finishes a session whose generator has taken its steps, also if a time slice ended with the last of them", async () => {
    caller
      .route(slowSteps, 2)
      .task(0, 2, [])
      .write((writer) => writeCredit(writer, 0, 3))
      .send();
    executor.finish(1);
    await vi.waitFor(() => expect(finished).toEqual([1]), 20_000);
    expect(caller.outcomes).toEqual([1, 2, 3].map((value) => ["yielded", 0, value]));
  });

  it("does nothing more in a thread that a task has spoiled after a message came", async () => {
    // The first message is read in the next turn of the event loop.
    caller.task(0, 1, ["now"]).send();
    isSound = false;
    await settle();
    expect(entered).toEqual([]);
    expect(executor.isIdle).toBe(false);
  });

  it("answers the first tasks of a long message before it begins the last ones", async () => {
    const answered: number[] = [];
    hooks.executorTest = { enter: () => answered.push(caller.outcomes.length) };
    // The end of a time slice is another reason to answer.
    const clock = vi.spyOn(performance, "now").mockReturnValue(1);
    for (let id = 0; id < 100; id++) caller.task(id, 1, ["any"]);
    caller.send();
    await settle();
    clock.mockRestore();
    expect(caller.outcomes).toHaveLength(100);
    expect(answered).toHaveLength(100);
    expect(answered.at(-1)).toBeGreaterThan(0);
  });

  it("keeps callers apart: the same ids and routes mean something else to each", async () => {
    const other = new Caller(executor, 2).route(large, 1);
    caller.task(0, 1, ["mine"]).send();
    other.task(0, 1, [Uint8Array.of(1, 2)]).send();
    await settle();
    end("mine");
    await settle();
    expect(caller.outcomes).toEqual([["result", 0, "mine"]]);
    expect(other.outcomes).toEqual([["result", 0, Uint8Array.of(1, 2)]]);
  });

  it("gives tasks their call context: name, caller, pool and context", async () => {
    const user = new ContextVar("user", { default: "nobody" });
    const seen: unknown[] = [];
    hooks.executorTest.enter = () => {
      const task = currentTask();
      seen.push([task?.id, task?.caller, task?.worker, user.get(), currentCallContext()?.carrier !== undefined]);
    };
    const context = user.run("ann", () => encodeContext(currentCallContext() ?? {}))?.bytes;
    caller
      .write((writer) => writePoolReference(writer, 4, Buffer.from("pool"), undefined, []))
      .task(7, 1, ["x"], { caller: "parent-1", context, pool: 4 })
      .task(8, 1, ["x"])
      .send();
    await settle();
    expect(seen).toEqual([
      ["caller1-7", "parent-1", "w-1", "ann", true],
      ["caller1-8", undefined, "w-1", "nobody", false],
    ]);
    executor.close(1);
    expect(released).toBe(1);
  });

  it("refuses tasks that it cannot run, and goes on", async () => {
    caller.task(0, 9, []).task(1, 1, ["held"]).task(1, 1, ["again"]).task(2, 1, ["now"]).send();
    await settle();
    expect(caller.outcomes).toEqual([
      ["rejected", 0, StatusCode.INTERNAL, "the task names an unknown routine"],
      ["rejected", 1, StatusCode.INTERNAL, "task 1 is already running"],
      ["result", 2, "now"],
    ]);
    expect(caller.answers).toContainEqual(["accepted", 1]);
    expect(entered).toEqual(["held", "now"]);
  });

  it("forgets a routine that another one replaced", async () => {
    caller.task(0, 1, ["now"]).route(enter, 2, 1).task(1, 2, ["now"]).task(2, 1, ["now"]).send();
    await settle();
    expect(caller.answers).toEqual([
      ["result", 0, "now"],
      ["result", 1, "now"],
      ["rejected", 2, StatusCode.INTERNAL, "the task names an unknown routine"],
    ]);
  });

  it("takes and gives large payloads in pieces, small ones meanwhile", async () => {
    const payload = new Uint8Array(600_000).map((_, i) => i % 251);
    const args = Buffer.from(encode([payload]));
    caller.route(large, 2);
    for (let at = 0; at < args.length; at += 250_000) {
      const piece = args.subarray(at, at + 250_000);
      caller.write((writer) =>
        writeFrame(writer, RequestField.chunk, [undefined, 0, piece, at === 0 ? args.length : undefined]),
      );
    }
    caller.writable = false;
    caller.write((writer) => writeTask(writer, 0, 2, { chunked: args.length }, 0, {})).send();
    await settle();
    caller.task(1, 1, ["now"]).send();
    await settle();
    expect(caller.answers).toEqual([
      ["accepted", 0],
      ["result", 1, "now"],
    ]);
    caller.drained();
    while (caller.answers.length < 3) await turn();
    const [kind, id, value] = caller.answers[2] ?? [];
    expect([kind, id]).toEqual(["result", 0]);
    expect(Buffer.compare(value as Uint8Array, payload)).toBe(0);
  });

  it("lets the event loop turn between tasks that take long, and loses none", async () => {
    hooks.executorTest.enter = (name) => {
      entered.push(name);
      const until = performance.now() + 1;
      while (performance.now() < until);
      return name;
    };
    for (let i = 0; i < 5; i++) caller.task(i, 1, [`now ${i}`]);
    caller.send();
    expect(entered.length).toBeLessThan(5);
    while (entered.length < 5) await turn();
    await settle();
    expect(caller.answers.map(([, id]) => id)).toEqual([0, 1, 2, 3, 4]);
  });

  it("lets the event loop turn between messages that arrive together", async () => {
    let clock = performance.now();
    const now = vi.spyOn(performance, "now").mockImplementation(() => clock);
    hooks.executorTest.enter = (name) => {
      entered.push(name);
      clock += 1.5;
      return name;
    };
    for (let id = 0; id < 50; id++) caller.task(id, 1, ["short"]).send();
    expect(entered.length).toBeLessThan(5);
    while (entered.length < 50) await turn();
    now.mockRestore();
    await settle();
    expect(caller.outcomes).toHaveLength(50);
  });

  it("comes to a caller soon, however many others have a great deal to do", async () => {
    let clock = 1000;
    const now = vi.spyOn(performance, "now").mockImplementation(() => clock);
    hooks.executorTest.enter = (name) => {
      entered.push(name);
      clock += 0.2;
      return name;
    };
    const greedy = Array.from({ length: 200 }, (_, i) => new Caller(executor, i + 2).route(enter, 1));
    for (const each of greedy) {
      for (let id = 0; id < 50; id++) each.task(id, 1, ["greedy"]);
      each.send();
    }
    caller.task(0, 1, ["polite"]).send();
    while (!entered.includes("polite")) await turn();
    // Two tasks of each, half a millisecond. With turns of two milliseconds it would be 2,000.
    expect(entered.length).toBeLessThan(600);
    while (entered.length < 10_001) await turn();
    now.mockRestore();
    await settle();
    for (const each of greedy) expect(each.outcomes).toHaveLength(50);
  });
});

describe("generators", () => {
  beforeEach(() => {
    hooks.executorTest.enter = (name) => void entered.push(name);
    caller.route(countdown, 2);
  });

  it("run as far as they are given credit, and take steps", async () => {
    caller
      .task(0, 2, [5])
      .write((writer) => writeCredit(writer, 0, 2))
      .send();
    await settle();
    expect(caller.answers.filter(([kind]) => kind === "yielded")).toEqual([
      ["yielded", 0, 5],
      ["yielded", 0, 4],
    ]);
    caller.write((writer) => writeStep(writer, 0, StepKind.return, { bytes: encode("r") }, [], 2)).send();
    await settle();
    expect(caller.answers.at(-1)).toEqual(["result", 0, "r"]);
    expect([entered, executor.isIdle]).toEqual([["finally"], true]);
  });

  it("have nothing to do until their callers ask for more", async () => {
    const busy = (): unknown[] => [executor.isIdle, executor.runner.live, executor.runner.busy];
    hooks.executorTest.enter = (name) =>
      name === "held" ? new Promise<void>((resolve) => gates.set(name, resolve)) : undefined;
    caller.task(0, 2, [5]).task(1, 2, [5]).send();
    expect(busy()[0]).toBe(false);
    await settle();
    expect(busy()).toEqual([true, 2, 0]);
    caller
      .write((writer) => writeCredit(writer, 0, 1))
      .task(2, 1, ["held"])
      .send();
    await settle();
    expect(busy()).toEqual([false, 3, 1]);
    end("held");
    caller.write((writer) => writeCancel(writer, 0, encode("enough"), [])).send();
    await settle();
    expect(busy()).toEqual([true, 1, 0]);
    caller.write((writer) => writeCredit(writer, 1, 9)).send();
    await settle();
    expect(busy()).toEqual([true, 0, 0]);
  });

  it("are closed when they are cancelled", async () => {
    caller
      .task(0, 2, [5])
      .write((writer) => writeCredit(writer, 0, 1))
      .send();
    await settle();
    caller.write((writer) => writeCancel(writer, 0, encode(new RangeError("enough")), [])).send();
    await settle();
    expect(caller.answers.at(-1)).toEqual(["raised", 0, new RangeError("enough")]);
    expect([entered, executor.isIdle]).toEqual([["finally"], true]);
  });

  it("steps, credit and cancels of tasks that are over are ignored", async () => {
    caller
      .write((writer) => writeCredit(writer, 5, 1))
      .write((writer) => writeStep(writer, 5, StepKind.next, { bytes: encode(1) }, [], 0))
      .write((writer) => writeCancel(writer, 5, encode("x"), []))
      .send();
    await settle();
    expect([caller.answers, malformed]).toEqual([[], []]);
  });
});

describe("cancelling", () => {
  it("answers a running task with the reason and tells it; its own end is not sent", async () => {
    let signal: AbortSignal | undefined;
    const inner = hooks.executorTest.enter;
    hooks.executorTest.enter = (name) => {
      signal = currentTask()?.signal;
      return inner(name);
    };
    caller.task(0, 1, ["held"]).send();
    caller.write((writer) => writeCancel(writer, 0, encode("enough"), [])).send();
    await settle();
    expect(caller.outcomes).toEqual([["raised", 0, "enough"]]);
    expect(signal?.reason).toBe("enough");
    end("held");
    await settle();
    expect([caller.outcomes.length, executor.isIdle]).toEqual([1, true]);
  });

  it("without a reason, or with one that cannot be read, is a TaskCancelled", async () => {
    caller.task(0, 1, ["a"]).task(1, 1, ["b"]).send();
    caller
      .write((writer) => writeCancel(writer, 0, new Uint8Array(0), []))
      .write((writer) => writeCancel(writer, 1, Uint8Array.of(255, 255), []))
      .send();
    await settle();
    expect(caller.outcomes).toEqual([
      ["raised", 0, expect.any(TaskCancelled)],
      ["raised", 1, expect.any(TaskCancelled)],
    ]);
  });

  it("a task that waits for a place ends it before it is run", async () => {
    setUp(1);
    caller.task(0, 1, ["first"]).task(1, 1, ["second"]).task(2, 1, ["third"]).send();
    caller.write((writer) => writeCancel(writer, 1, encode("enough"), [])).send();
    await settle();
    // The task was never started, so no code in it saw the reason.
    expect(caller.outcomes).toEqual([["raised", 1, expect.any(TaskCancelled)]]);
    end("first");
    await settle();
    expect(entered).toEqual(["first", "third"]);
    end("third");
    await settle();
    expect(executor.isIdle).toBe(true);
  });

  it("one whose arguments are under way forgets them", async () => {
    const chunk = (total: number) => (writer: BatchWriter) =>
      writeFrame(writer, RequestField.chunk, [undefined, 0, Uint8Array.of(1, 2), total]);
    caller
      .write(chunk(100))
      .write((writer) => writeCancel(writer, 0, new Uint8Array(0), []))
      .send();
    const args = Buffer.from(encode(["now"]));
    caller
      .write((writer) => writeFrame(writer, RequestField.chunk, [undefined, 0, args, args.length]))
      .write((writer) => writeTask(writer, 0, 1, { chunked: args.length }, 0, {}))
      .send();
    await settle();
    expect(caller.outcomes).toEqual([["result", 0, "now"]]);
  });
});

describe("a caller that sends nonsense", () => {
  it.each([
    ["bytes", (writer: BatchWriter) => writer.bytes(Uint8Array.of(0x12, 0x7f, 0xff))],
    ["chunks", (writer: BatchWriter) => writeTask(writer, 5, 1, { chunked: 9 }, 0, {})],
    ["dependencies", (writer: BatchWriter) => writeTask(writer, 5, 1, { bytes: encode([]) }, 0, { needs: [44] })],
    ["files", (writer: BatchWriter) => writeTask(writer, 5, 1, { chunked: 1, file: "/etc/hostname" }, 0, {})],
  ])("(%s) loses its session, and no other does", async (_what, nonsense) => {
    const other = new Caller(executor, 2).route(enter, 1);
    let signal: AbortSignal | undefined;
    const inner = hooks.executorTest.enter;
    hooks.executorTest.enter = (name) => {
      if (name === "mine") signal = currentTask()?.signal;
      return inner(name);
    };
    caller.task(0, 1, ["mine"]).send();
    other.task(0, 1, ["theirs"]).send();
    caller.write(nonsense).send();
    await settle();
    expect(malformed).toEqual([[1, expect.any(String)]]);
    expect(signal?.aborted).toBe(true);
    end("theirs");
    end("mine");
    await settle();
    expect(other.answers).toContainEqual(["result", 0, "theirs"]);
    expect(caller.outcomes).toEqual([]);
    caller.task(3, 1, ["now"]).send();
    await settle();
    expect([caller.outcomes, executor.isIdle, malformed.length]).toEqual([[], true, 1]);
  });

  it("has nothing run that it sent after it", async () => {
    hooks.executorTest.enter = (name) => {
      entered.push(name);
      const until = performance.now() + 1;
      while (performance.now() < until);
    };
    caller.task(0, 1, ["first"]).send();
    caller.write((writer) => writer.bytes(Uint8Array.of(0x12, 0x7f, 0xff))).send();
    caller.route(enter, 1).task(1, 1, ["after"]).send();
    await settle();
    expect(malformed).toHaveLength(1);
    expect(entered).toEqual(["first"]);
  });
});

describe("a caller that goes", () => {
  it("leaves tasks that are told so, and hears nothing more", async () => {
    let signal: AbortSignal | undefined;
    const inner = hooks.executorTest.enter;
    hooks.executorTest.enter = (name) => {
      signal = currentTask()?.signal;
      return inner(name);
    };
    caller.task(0, 1, ["held"]).send();
    await vi.waitFor(() => expect(signal).toBeDefined());
    executor.close(1);
    executor.close(1);
    expect(signal?.reason).toBeInstanceOf(TaskCancelled);
    end("held");
    await settle();
    expect([caller.outcomes, executor.isIdle]).toEqual([[], true]);
  });

  it("leaves others their turns, however many tasks it had", async () => {
    const signals: AbortSignal[] = [];
    hooks.executorTest.enter = () => {
      const signal = currentTask()?.signal;
      // Telling the tasks takes a while.
      signal?.addEventListener("abort", () => {
        const until = performance.now() + 0.2;
        while (performance.now() < until);
      });
      if (signal !== undefined) signals.push(signal);
      return new Promise(() => undefined);
    };
    for (let id = 0; id < 500; id++) caller.task(id, 1, ["held"]);
    caller.send();
    await vi.waitFor(() => expect(signals).toHaveLength(500), { timeout: 20_000 });
    executor.close(1);
    const told = (): number => signals.filter(({ aborted }) => aborted).length;
    expect(told()).toBeLessThan(500);
    await vi.waitFor(() => expect(told()).toBe(500), { timeout: 20_000 });
  });

  it("has nothing run that had not been looked at", async () => {
    hooks.executorTest.enter = (name) => {
      entered.push(name);
      const until = performance.now() + 3;
      while (performance.now() < until);
    };
    caller.task(0, 1, ["first"]).task(1, 1, ["second"]).send();
    caller.task(2, 1, ["third"]).send();
    executor.close(1);
    await settle();
    // On a busy machine not even the first one: its time was over before it was looked at.
    expect([[], ["first"]]).toContainEqual(entered);
  });
});

describe("stopping", () => {
  it("refuses new tasks, and reports when the last one has ended and been answered", async () => {
    caller.task(0, 1, ["held"]).send();
    await settle();
    executor.stop();
    caller.task(1, 1, ["now"]).send();
    await settle();
    expect(caller.answers).toContainEqual(["rejected", 1, StatusCode.UNAVAILABLE, "the worker is stopping"]);
    expect([drained, entered]).toEqual([0, ["held"]]);
    end("held");
    await settle();
    expect(caller.answers.at(-1)).toEqual(["result", 0, "held"]);
    expect(drained).toBe(1);
  });

  /** Messages that have arrived and wait for the next turn. The first one has been read in part. */
  function sendTooMuch(): void {
    hooks.executorTest.enter = (name) => {
      entered.push(name);
      const until = performance.now() + 5;
      while (performance.now() < until);
      return name;
    };
    caller.task(0, 1, ["first"]).task(1, 1, ["second"]).send();
    caller.task(2, 1, ["third"]).send();
    expect(entered.length).toBeLessThan(2);
  }

  it("runs the tasks that have arrived before, also if they are read only then", async () => {
    sendTooMuch();
    executor.stop();
    caller.task(3, 1, ["fourth"]).send();
    expect(drained).toBe(0);
    await vi.waitFor(() => expect(drained).toBe(1));
    expect(entered).toEqual(["first", "second", "third"]);
    await vi.waitFor(() => expect(caller.outcomes).toHaveLength(4));
    expect(caller.outcomes.map(([kind, id]) => [kind, id])).toContainEqual(["rejected", 3]);
  });

  it("refuses them once tasks are cancelled, and waits no longer for those of a caller that is gone", async () => {
    sendTooMuch();
    executor.stop();
    executor.cancelAll();
    await vi.waitFor(() => expect(drained).toBe(1));
    const refused = caller.answers.filter(([kind]) => kind === "rejected").map(([, id]) => id);
    expect(refused).toEqual([0, 1, 2].slice(entered.length));
    setUp(0);
    sendTooMuch();
    executor.stop();
    executor.close(1);
    expect(drained).toBe(1);
  });

  it("lets tasks run that wait for a place", async () => {
    setUp(1);
    caller.task(0, 1, ["first"]).task(1, 1, ["second"]).send();
    await settle();
    executor.stop();
    end("first");
    await settle();
    expect([drained, entered]).toEqual([0, ["first", "second"]]);
    end("second");
    await settle();
    expect(drained).toBe(1);
  });

  it.each([
    ["is cancelled", () => caller.write((writer) => writeCancel(writer, 0, encode("enough"), [])).send()],
    ["has lost its caller", () => executor.close(1)],
    ["is cancelled with all others", () => executor.cancelAll()],
  ])("reports when a task that waits for another thread %s", async (_what, leave) => {
    const permits = ConcurrencyPermits.of(1, 2);
    permits.take(1);
    setUp(1, permits);
    caller.task(0, 1, ["waiting"]).send();
    await settle();
    executor.stop();
    await settle();
    expect(drained).toBe(0);
    leave();
    await vi.waitFor(() => expect([drained, entered]).toEqual([1, []]));
  });

  it("refuses what its hook still thinks about, and does not run it when the hook has made up its mind", async () => {
    let decide: (refuses: boolean) => void = () => undefined;
    executor.askFirst({ backpressure: () => new Promise((resolve) => (decide = resolve)) });
    caller.task(0, 1, ["now"]).send();
    await settle();
    expect(caller.answers).toEqual([]);
    executor.stop();
    expect(caller.answers).toEqual([["rejected", 0, StatusCode.UNAVAILABLE, "the worker is stopping"]]);
    expect(drained).toBe(1);
    decide(false);
    await settle();
    expect([caller.answers.length, entered]).toEqual([1, []]);
  });

  it("reports at once when there is nothing", () => {
    executor.stop();
    expect(drained).toBe(1);
  });

  it("cancelling all answers each task of each caller, started or not", async () => {
    setUp(1);
    const other = new Caller(executor, 2).route(enter, 1);
    caller.task(0, 1, ["first"]).send();
    // On a busy machine another caller may have its turn before the first task has begun.
    await vi.waitFor(() => expect(entered).toEqual(["first"]));
    caller.task(1, 1, ["second"]).send();
    other.task(0, 1, ["third"]).send();
    await settle();
    executor.stop();
    executor.cancelAll();
    expect(caller.outcomes).toEqual([
      ["raised", 0, expect.any(TaskCancelled)],
      ["raised", 1, expect.any(TaskCancelled)],
    ]);
    expect(other.outcomes).toEqual([["raised", 0, expect.any(TaskCancelled)]]);
    end("first");
    await settle();
    expect([drained, entered]).toEqual([1, ["first"]]);
  });
});

describe("a session whose caller sends nothing more", () => {
  it("is finished at once when nothing is left to do, and told of once", async () => {
    executor.finish(1);
    expect(finished).toEqual([1]);
    executor.finish(7);
    await settle();
    expect(finished).toEqual([1]);
  });

  it("is finished after the last outcome was sent", async () => {
    caller.task(0, 1, ["first"]).task(1, 1, ["second"]).send();
    executor.finish(1);
    await settle();
    end("first");
    await settle();
    expect(finished).toEqual([]);
    end("second");
    await settle();
    expect(caller.outcomes).toHaveLength(2);
    expect(finished).toEqual([1]);
  });

  it("is finished although it has generators that wait to be asked for more", async () => {
    caller
      .route(countdown, 2)
      .task(0, 2, [9])
      .write((writer) => writeCredit(writer, 0, 2))
      .send();
    executor.finish(1);
    expect(finished).toEqual([]);
    await settle();
    expect(caller.outcomes).toEqual([
      ["yielded", 0, 9],
      ["yielded", 0, 8],
    ]);
    expect(finished).toEqual([1]);
  });

  it("is finished after a result in chunks has gone out", async () => {
    caller.writable = false;
    caller.route(large, 2);
    caller.task(0, 2, [new Uint8Array(200_000)]).send();
    caller.task(1, 2, [new Uint8Array(250_000).fill(1)]).send();
    const payload = new Uint8Array(1_000_000).fill(3);
    const bytes = encode([payload]);
    caller
      .write((writer) => {
        writeFrame(writer, RequestField.chunk, [undefined, 2, bytes, bytes.length]);
        writeTask(writer, 2, 2, { chunked: bytes.length }, 2, {});
      })
      .send();
    executor.finish(1);
    await settle();
    expect(finished).toEqual([]);
    caller.drained();
    await settle();
    expect(caller.outcomes.map(([kind, id]) => [kind, id])).toContainEqual(["result", 2]);
    expect(finished).toEqual([1]);
  });

  it("is not told of when its caller goes", async () => {
    caller.task(0, 1, ["long"]).send();
    executor.finish(1);
    executor.close(1);
    end("long");
    await settle();
    expect(finished).toEqual([]);
  });
});

describe("a pack", () => {
  it("is answered call by call, each with a record of its own", async () => {
    const seen: unknown[] = [];
    hooks.executorTest.enter = (name) => {
      seen.push([name, currentTask()?.id, currentTask()?.tag]);
      if (name === "bad") throw new RangeError("bad");
      return name;
    };
    caller.pack(7, 1, ["a", "bad", "c"], 100).send();
    await settle();
    expect(caller.outcomes).toEqual([
      ["result", 7, "a", 1],
      ["raised", 7, new RangeError("bad"), 2],
      ["result", 7, "c", 3],
    ]);
    expect(seen).toEqual(
      ["a", "bad", "c"].map((name, i) => [name, `caller1-${(100 + i).toString(36)}`, `${enter.name}@w-1`]),
    );
    expect([executor.isIdle, executor.runner.live]).toEqual([true, 0]);
  });

  it("makes no promises for an async routine that never awaits", async () => {
    const prompt = new RoutineSpec(
      async (name: string) => (globalThis as unknown as Hooks).executorTest.enter(name),
      {},
      false,
    );
    const waiting = new RoutineSpec(
      async (name: string) => (globalThis as unknown as Hooks).executorTest.enter(await Promise.resolve(name)),
      {},
      false,
    );
    let promises = 0;
    const made: number[] = [];
    const hook = createHook({ init: (_id, type) => void (promises += type === "PROMISE" ? 1 : 0) }).enable();
    hooks.executorTest.enter = (name) => {
      made.push(promises);
      if (name === "bad") throw new RangeError("bad");
      return name;
    };
    try {
      caller.route(prompt, 2).route(waiting, 3).pack(0, 2, ["a", "bad", "c"]).send();
      await settle();
      const [first = 0, second, third] = made;
      expect([second, third]).toEqual([first, first]);
      caller.pack(1, 3, ["d", "bad", "f"]).send();
      await settle();
      expect(caller.outcomes).toEqual(
        [0, 1].flatMap((id) => [
          ["result", id, id === 0 ? "a" : "d", 1],
          ["raised", id, new RangeError("bad"), 2],
          ["result", id, id === 0 ? "c" : "f", 3],
        ]),
      );
    } finally {
      hook.disable();
    }
  });

  it("has results of calls that follow each other sent in one frame", async () => {
    const long = "x".repeat(5000);
    hooks.executorTest.enter = async (name) => {
      if (name === "bad") throw new RangeError("bad");
      return name === "long" ? long : name;
    };
    const names = ["a", "b", "c", "bad", "d", "long", "long", "long", "long", "e"];
    caller.pack(7, 1, names).pack(8, 1, ["f", "g"]).send();
    await settle();
    const results = names.map((name, index) => {
      if (name === "bad") return ["raised", 7, new RangeError("bad"), index + 1];
      return ["result", 7, name === "long" ? long : name, index + 1];
    });
    expect(caller.outcomes).toEqual([...results, ["result", 8, "f", 1], ["result", 8, "g", 2]]);
    // Three results, an error, four results up to the limit of bytes in a frame, two more, and the second pack.
    expect(caller.frames).toBe(5);
  });

  it("has its results sent before its end when it is cancelled", async () => {
    caller.pack(0, 1, ["now1", "now2", "slow"]).send();
    caller.write((writer) => writeCancel(writer, 0, encode(new RangeError("enough")), [])).send();
    await settle();
    expect(caller.outcomes).toEqual([
      ["result", 0, "now1", 1],
      ["result", 0, "now2", 2],
      ["raised", 0, new RangeError("enough")],
    ]);
  });

  it("gives each answer when it is there", async () => {
    caller.pack(0, 1, ["slow", "now"]).send();
    await settle();
    expect(caller.outcomes).toEqual([["result", 0, "now", 2]]);
    expect(executor.isIdle).toBe(false);
    end("slow");
    await settle();
    expect(caller.outcomes).toEqual([
      ["result", 0, "now", 2],
      ["result", 0, "slow", 1],
    ]);
    expect(executor.isIdle).toBe(true);
  });

  it("tells of what cannot travel by itself", async () => {
    hooks.executorTest.enter = (name) => (name === "bad" ? setTimeout(() => undefined, 0).unref() : name);
    caller.pack(0, 1, ["a", "bad", "c"]).send();
    await settle();
    expect(caller.outcomes.map(([kind, , , item]) => [kind, item])).toEqual([
      ["result", 1],
      ["raised", 2],
      ["result", 3],
    ]);
  });

  it("is cancelled as a whole, and what has not begun never does", async () => {
    let signal: AbortSignal | undefined;
    hooks.executorTest.enter = (name) => {
      entered.push(name);
      signal ??= currentTask()?.signal;
      const until = performance.now() + 0.2;
      while (performance.now() < until);
      return new Promise(() => undefined);
    };
    const names = Array.from({ length: 1000 }, (_, i) => `held${i}`);
    caller.pack(3, 1, names).send();
    caller.write((writer) => writeCancel(writer, 3, encode(new RangeError("enough")), [])).send();
    await vi.waitFor(() => expect(signal?.aborted).toBe(true));
    await settle();
    expect(caller.outcomes.map(([kind, id, , item]) => [kind, id, item])).toEqual([["raised", 3, undefined]]);
    await settle();
    expect(entered.length).toBeLessThan(1000);
  });

  it("leaves others their turns, however many calls it has", async () => {
    const other = new Caller(executor, 2).route(enter, 1);
    let before = -1;
    hooks.executorTest.enter = (name) => {
      if (name === "other") before = entered.length;
      entered.push(name);
      const until = performance.now() + 0.05;
      while (performance.now() < until);
      return name;
    };
    caller
      .pack(
        0,
        1,
        Array.from({ length: 1000 }, () => "now"),
      )
      .send();
    other.task(0, 1, ["other"]).send();
    await vi.waitFor(() => expect(caller.outcomes).toHaveLength(1000), { timeout: 20_000 });
    expect([before >= 0, before < 1000]).toEqual([true, true]);
  });

  it.each([
    ["more bytes than there are", [9, 9]],
    ["fewer", [1]],
  ])("with calls of %s ends its session", async (_name, items) => {
    caller.write((writer) => writeTask(writer, 0, 1, { bytes: encode(["a"]) }, 0, { items })).send();
    await settle();
    expect(malformed).toEqual([[1, "the arguments of a pack do not fit its calls"]]);
  });

  it("counts as many tasks as it has calls", async () => {
    const exhausted: unknown[] = [];
    executor = new Executor({
      uid: "w-1",
      board,
      concurrency: undefined,
      announcePool: () => expect.unreachable(),
      finished: () => undefined,
      malformed: () => expect.unreachable(),
      exhausted: (...told) => exhausted.push(told),
      hold: () => undefined,
      drained: () => undefined,
      limits: { ...DEFAULT_LIMITS, maxLiveTasks: 5 },
    });
    caller = new Caller(executor, 1).route(enter, 1);
    // As many as may be live, twice: all of them are free again.
    for (const id of [0, 1]) {
      caller
        .pack(2 * id, 1, ["held4", "held5"])
        .pack(2 * id + 1, 1, ["held1", "held2", "held3"])
        .send();
      await settle();
      expect(exhausted).toEqual([]);
      for (const name of gates.keys()) end(name);
      await settle();
    }
    entered.length = 0;
    caller.pack(0, 1, ["held1", "held2", "held3"]).pack(1, 1, ["held4", "held5", "held6"]).send();
    await settle();
    expect(exhausted).toEqual([[1, expect.stringContaining("maxLiveTasks")]]);
    expect(entered).toEqual(["held1", "held2", "held3"]);
  });

  it("keeps signals among its arguments from the next task, whoever sent that", async () => {
    openSignals();
    caller.pack(0, 1, [new AbortController().signal]);
    expect(closeSignals()).toHaveLength(1);
    hooks.executorTest.enter = (name) => String(name);
    caller.send();
    await settle();
    expect(caller.outcomes).toEqual([["result", 0, "[object AbortSignal]", 1]]);
    expect(takeArrivedSignals()).toBeUndefined();
  });

  it("is refused where few tasks may run at once, and of generators", async () => {
    caller.route(countdown, 2).pack(0, 2, [1, 2]).send();
    setUp(1);
    const limited = caller;
    limited.pack(0, 1, ["a", "b"]).send();
    await settle();
    expect(limited.outcomes).toEqual([
      ["rejected", 0, StatusCode.INTERNAL, `${enter.name} cannot be called in packs here`],
    ]);
    expect(entered).toEqual([]);
  });
});
