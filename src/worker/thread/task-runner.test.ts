import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as eventLoop } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { CodeUnavailable, SerializationError, TaskCancelled, TaskTimeout } from "../../errors.ts";
import { type Dependency, ModuleUnavailable } from "../../functions/index.ts";
import { PoolDirectory, payloadFiles } from "../../host/index.ts";
import { currentCallContext } from "../../routine/call-context.ts";
import type { CallCarrier } from "../../routine/index.ts";
import { currentTask } from "../../routine/task.ts";
import { events, type TaskEvent } from "../../telemetry/index.ts";
import { encode, type Serializer, ValueDecoder } from "../../values/index.ts";
import { ResponseField } from "../../wire/fields.ts";
import { Payload } from "../../wire/payload.ts";
import { ConcurrencyPermits } from "../shared/concurrency-permits.ts";
import type { ExecutorSession } from "./executor-session.ts";
import { ReadyTask } from "./ready-task.ts";
import { EarlySteps } from "./routines/early-steps.ts";
import type { RemoteRoutine } from "./routines/remote-routine.ts";
import { RunningTask } from "./running-task.ts";
import { TaskRunner } from "./task-runner.ts";
import { TaskTable } from "./task-table.ts";
import { LaterTurns, TimeSlice } from "./turns/index.ts";
import { TaskParking } from "./turns/task-parking.ts";

/** Whatever was to go on in the next turn of the event loop has. */
async function turn(): Promise<void> {
  await eventLoop();
  await eventLoop();
}

type Fn = (this: unknown, ...args: never[]) => unknown;

interface TaskSetup {
  readonly args?: readonly unknown[];
  readonly streams?: boolean;
  readonly method?: boolean;
  readonly timeout?: number;
  readonly loading?: Promise<void>;
  readonly codeLoading?: Promise<void>;
  readonly serializer?: Serializer;
  readonly pool?: CallCarrier;
  /** Thrown when the code is decoded. */
  readonly unavailable?: ModuleUnavailable;
  /** The arguments go through a file. */
  readonly file?: boolean;
}

const KINDS = new Map<number, string>(Object.entries(ResponseField).map(([name, field]) => [field, name]));

const directory = new PoolDirectory();
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await directory.dispose();
});

function setUp(maxConcurrency = 0) {
  /** The answers: kind, id and value. */
  const sent: unknown[][] = [];
  const abandoned: number[] = [];
  const counts = { ended: 0 };
  /** What the gRPC thread would see: the number of tasks, and how often their code was entered and left. */
  const shown = { live: 0, entered: 0, left: 0 };
  const occupancy = {
    started: () => void shown.live++,
    ended: () => void shown.live--,
    enter: () => void shown.entered++,
    leave: () => void shown.left++,
  };
  const carrier = { call: () => Promise.resolve(), stream: async function* () {} };
  const loading: Promise<void>[] = [];
  const session = {
    callerId: "caller",
    received: { ready: ([number = -1]: readonly number[]) => loading[number], holdsValues: () => false },
    tasks: new TaskTable(),
    decoder: new ValueDecoder(),
    outbox: { abandon: (id: number) => abandoned.push(id) },
    unread: { relief: () => undefined },
    party: {},
    dropEarlyFrames: () => undefined,
    addWaiting: () => undefined,
    dropWaiting: () => undefined,
    started: () => undefined,
    outcome: (frame: number, id: number, value: unknown, serializer: Serializer | undefined, control: boolean) => {
      // A value that cannot be encoded is refused, as by a real session.
      if (serializer === undefined) encode(value, frame === ResponseField.raised ? "error" : "result");
      sent.push([KINDS.get(frame), id, value, ...(control ? ["control"] : [])]);
    },
  } as unknown as ExecutorSession;
  const slice = Object.assign(new TimeSlice(), { end: Number.POSITIVE_INFINITY });
  const runner = new TaskRunner({
    slice,
    later: new LaterTurns(slice),
    parking:
      maxConcurrency === 0
        ? undefined
        : new TaskParking({
            permits: ConcurrencyPermits.of(maxConcurrency, 1),
            lane: 0,
            announce: () => expect.unreachable(),
          }),
    touched: () => undefined,
    occupancy,
    ended: () => counts.ended++,
  });
  let lastId = -1;
  const take = (fn: Fn, setup: TaskSetup = {}): RunningTask => {
    const { args = [], timeout = 0 } = setup;
    const routine = {
      name: "routine",
      streams: setup.streams ?? false,
      method: setup.method ?? false,
      loading: setup.codeLoading,
      wasMade: setup.unavailable === undefined && setup.codeLoading === undefined,
      function: () => {
        if (setup.unavailable !== undefined) throw setup.unavailable;
        return fn;
      },
      serializer: () => setup.serializer,
    } as unknown as RemoteRoutine;
    const id = ++lastId;
    const task = new RunningTask(session, routine, "w-1", id, id, undefined, timeout);
    session.tasks.set(id, task);
    const buffer = Buffer.from(setup.serializer?.dumps(args) ?? encode(args));
    const ready = new ReadyTask(task, {
      args:
        setup.file === true
          ? Payload.inStore(payloadFiles, payloadFiles.put(buffer) ?? "", buffer.length)
          : Payload.inMemory(buffer),
      pool: setup.pool,
      context: undefined,
      needs: setup.loading === undefined ? [] : [loading.push(setup.loading) - 1],
      timeout,
    });
    runner.take(ready);
    return task;
  };
  return { runner, session, sent, abandoned, counts, shown, carrier, take };
}

function withResolvers(): { promise: Promise<void>; reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<void>((_, fail) => {
    reject = fail;
  });
  return { promise, reject };
}

/** Tasks that the test ends. */
class Gates {
  readonly entered: number[] = [];
  readonly #gates = new Map<number, () => void>();

  readonly enter = (n: number): Promise<number> => {
    this.entered.push(n);
    return new Promise((resolve) => this.#gates.set(n, () => resolve(n)));
  };

  get open(): number[] {
    return [...this.#gates.keys()];
  }

  end(n: number): void {
    this.#gates.get(n)?.();
    this.#gates.delete(n);
  }
}

describe("a task", () => {
  it("runs at once, with its arguments, and what it gives is sent", async () => {
    const { sent, take, session, runner, counts, shown } = setUp();
    take((a: number, b: number) => a + b, { args: [1, 2] });
    expect(sent).toEqual([["result", 0, 3]]);
    take(async (a: number) => a * 2, { args: [4] });
    expect(runner.live).toBe(1);
    await turn();
    expect(sent.at(-1)).toEqual(["result", 1, 8]);
    expect([runner.live, session.tasks.list().length, counts.ended]).toEqual([0, 0, 2]);
    expect(shown).toEqual({ live: 0, entered: 2, left: 2 });
  });

  it("knows itself, and the pool that it came from", async () => {
    const { sent, take, carrier } = setUp();
    let callContext: ReturnType<typeof currentCallContext>;
    const task = take(
      async () => {
        await turn();
        callContext = currentCallContext();
        return currentTask()?.id;
      },
      { pool: carrier },
    );
    while (sent.length === 0) await turn();
    expect(sent).toEqual([["result", 0, "caller-0"]]);
    expect([callContext?.task, callContext?.carrier]).toEqual([task, carrier]);
    expect(currentCallContext()).toBeUndefined();
  });

  it("of a method runs on its object", () => {
    const { sent, take } = setUp();
    const fn = function (this: unknown, x: number) {
      return [(this as { factor: number }).factor, x];
    };
    take(fn as Fn, { args: [{ factor: 3 }, 5], method: true });
    expect(sent).toEqual([["result", 0, [3, 5]]]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new RangeError("x");
      },
    ],
    ["rejects", () => Promise.reject(new RangeError("x"))],
  ])("that %s sends that, and keeps it", async (_what, fn) => {
    const { sent, take, runner } = setUp();
    const task = take(fn);
    await turn();
    expect(sent).toEqual([["raised", 0, new RangeError("x")]]);
    expect([task.exception, task.state, runner.live]).toEqual([new RangeError("x"), "ended", 0]);
  });

  describe.each<[string, () => unknown]>([
    ["an object without a prototype", () => Object.assign(Object.create(null), { w: new WeakRef({}) })],
    [
      "an object that throws when it is described",
      () => ({
        w: new WeakRef({}),
        toString: () => {
          throw new Error("not me");
        },
      }),
    ],
    [
      "a revoked proxy",
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      },
    ],
    [
      "an error whose message cannot be read",
      () =>
        Object.defineProperty(Object.assign(new Error("x"), { w: new WeakRef({}) }), "message", {
          get: () => {
            throw new Error("not me");
          },
        }),
    ],
    [
      "an error with a symbol for a name",
      () => Object.assign(new Error("x"), { name: Symbol("q"), w: new WeakRef({}) }),
    ],
    [
      "an error with a message that is no text",
      () => Object.assign(new Error("x"), { message: Object.create(null) as unknown, w: new WeakRef({}) }),
    ],
  ])("that throws %s", (_what, make) => {
    it.each([
      [
        "at once",
        () => {
          throw make();
        },
      ],
      [
        "later",
        async () => {
          await turn();
          throw make();
        },
      ],
    ])("%s ends, and says that it cannot travel", async (_when, fn) => {
      const { sent, take, runner, counts } = setUp();
      take(fn);
      await turn();
      await turn();
      expect(sent).toMatchObject([
        ["raised", 0, { name: "SerializationError", path: expect.stringMatching(/^error/) }],
      ]);
      expect([runner.live, counts.ended]).toEqual([0, 1]);
    });
  });

  it("waits for a promise as await does, also if that has a then of its own", async () => {
    const { sent, take } = setUp();
    take(() => Object.assign(Promise.resolve(1), { ["then"]: () => expect.unreachable() }));
    await turn();
    expect(sent).toEqual([["result", 0, 1]]);
  });

  it("that gives a proxy which can be awaited is waited for, and one that cannot be asked fails alone", async () => {
    const { sent, take } = setUp();
    take(() => new Proxy({}, { get: () => (resolve: (value: number) => void) => resolve(1) }));
    await turn();
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    take(() => proxy);
    expect(sent).toMatchObject([
      ["result", 0, 1],
      ["raised", 1, { name: "TypeError" }],
    ]);
  });

  it("whose arguments cannot be read fails alone", () => {
    const { sent, take } = setUp();
    const loads = () => {
      throw new RangeError("cannot be read");
    };
    take(() => expect.unreachable(), { serializer: { dumps: () => Buffer.alloc(0), loads } });
    expect(sent).toEqual([["raised", 0, new RangeError("cannot be read")]]);
  });

  it("whose result or error cannot travel says so", () => {
    const { sent, take } = setUp();
    take(() => new WeakRef({}));
    take(() => {
      throw Object.assign(new RangeError("bad"), { socket: new WeakRef({}) });
    });
    expect(sent).toMatchObject([
      ["raised", 0, { name: "SerializationError" }],
      ["raised", 1, { name: "SerializationError", message: expect.stringMatching(/RangeError: bad/) }],
    ]);
    expect(sent[1]?.[2]).toBeInstanceOf(SerializationError);
  });

  it("waits for the code that it needs", async () => {
    const { sent, take } = setUp();
    let loaded: () => void = () => undefined;
    take(() => "ran", {
      loading: new Promise((resolve) => {
        loaded = resolve;
      }),
    });
    await turn();
    expect(sent).toEqual([]);
    loaded();
    await turn();
    expect(sent).toEqual([["result", 0, "ran"]]);
  });

  it("whose code cannot be loaded is told which", async () => {
    const { sent, take, runner } = setUp();
    take(() => expect.unreachable(), { codeLoading: Promise.reject(new Error("no such module")) });
    await turn();
    expect(sent).toEqual([["raised", 0, expect.any(CodeUnavailable)]]);
    expect(String(sent[0]?.[2])).toMatch(/routine needs: no such module/);
    expect(runner.live).toBe(0);
  });

  it("whose code throws what cannot be described when it is loaded ends", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const thrown of [proxy, Object.create(null) as unknown]) {
      const { sent, take, runner } = setUp();
      const codeLoading = new Promise<void>((_resolve, reject) => reject(thrown));
      take(() => expect.unreachable(), { codeLoading });
      await turn();
      expect(sent).toMatchObject([
        ["raised", 0, { name: expect.stringMatching(/CodeUnavailable|SerializationError/) }],
      ]);
      expect(runner.live).toBe(0);
    }
  });

  it("that takes too long is answered and told, and ends when it ends", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { sent, take, runner, abandoned } = setUp();
    const gates = new Gates();
    const task = take(gates.enter, { args: [1], timeout: 50 });
    // Timers are set at the end of the turn.
    await turn();
    vi.advanceTimersByTime(50);
    expect(sent).toEqual([["raised", 0, expect.any(TaskTimeout)]]);
    expect(task.signal.reason).toBeInstanceOf(TaskTimeout);
    expect([runner.live, task.wireId, abandoned]).toEqual([1, -1, [0]]);
    gates.end(1);
    await turn();
    expect(sent).toHaveLength(1);
    expect(runner.live).toBe(0);
  });

  it("that ends in time leaves no timer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { sent, take } = setUp();
    take(() => 1, { timeout: 50 });
    const gates = new Gates();
    take(gates.enter, { args: [1], timeout: 50 });
    await turn();
    expect(vi.getTimerCount()).toBe(1);
    gates.end(1);
    await turn();
    expect(vi.getTimerCount()).toBe(0);
    expect(sent).toEqual([
      ["result", 0, 1],
      ["result", 1, 1],
    ]);
  });
});

describe("dismissing a task", () => {
  it("answers once, and aborts its signal with the reason", async () => {
    const { runner, sent, take } = setUp();
    const gates = new Gates();
    const task = take(gates.enter, { args: [1] });
    runner.dismiss(task, "enough");
    runner.dismiss(task, "again");
    expect(sent).toEqual([["raised", 0, "enough"]]);
    expect(task.signal.reason).toBe("enough");
    gates.end(1);
    await turn();
    expect(sent).toHaveLength(1);
    expect(runner.live).toBe(0);
  });

  it.each([false, true])("while its code is loaded ends it, once (a generator: %s)", async (streams) => {
    for (const outcome of ["loaded", "failed"]) {
      const { runner, take, counts } = setUp(1);
      let settle: (error?: Error) => void = () => undefined;
      const loading = new Promise<void>((resolve, reject) => {
        settle = (error) => (error === undefined ? resolve() : reject(error));
      });
      const task = take(() => expect.unreachable(), { loading, streams });
      runner.dismiss(task, new TaskCancelled("x"));
      settle(outcome === "loaded" ? undefined : new Error("no such module"));
      await turn();
      expect([outcome, runner.live, counts.ended]).toEqual([outcome, 0, 1]);
    }
  });

  it("a generator runs its finally blocks and ends", async () => {
    const { runner, sent, take, counts } = setUp();
    const trace: string[] = [];
    const generator = async function* () {
      try {
        yield 1;
      } finally {
        trace.push("finally");
      }
    };
    const task = take(generator, { streams: true });
    task.run?.credit(1);
    await turn();
    runner.dismiss(task, "enough");
    await turn();
    expect(sent).toEqual([
      ["yielded", 0, 1],
      ["raised", 0, "enough"],
    ]);
    expect([trace, runner.live, counts.ended]).toEqual([["finally"], 0, 1]);
  });

  it("a synchronous generator whose last promise is pending ends, once", async () => {
    const { runner, take, counts } = setUp();
    let settle: (value: number) => void = () => undefined;
    const last = new Promise<number>((resolve) => {
      settle = resolve;
    });
    const generator = function* () {
      return last;
    };
    const task = take(generator, { streams: true });
    task.run?.credit(1);
    await turn();
    runner.dismiss(task, "enough");
    settle(1);
    await turn();
    expect([runner.live, counts.ended]).toEqual([0, 1]);
  });
});

describe("a generator", () => {
  it("takes the steps that came before it was there", async () => {
    const { sent, take } = setUp();
    let loaded: () => void = () => undefined;
    const loading = new Promise<void>((resolve) => {
      loaded = resolve;
    });
    const generator = function* () {
      yield 1;
      yield 2;
      return 3;
    };
    const task = take(generator, { streams: true, loading });
    task.early = new EarlySteps();
    task.early.addCredit(1);
    task.early.add((run) => run.credit(2));
    loaded();
    while (sent.length < 3) await turn();
    expect(sent).toEqual([
      ["yielded", 0, 1],
      ["yielded", 0, 2],
      ["result", 0, 3],
    ]);
  });

  it("that yields what cannot travel fails, is closed and ends, once", async () => {
    const { sent, take, runner, counts } = setUp();
    const trace: string[] = [];
    const generator = function* () {
      try {
        yield new WeakRef({});
      } finally {
        trace.push("finally");
      }
    };
    const task = take(generator, { streams: true });
    task.run?.credit(3);
    await turn();
    expect(sent).toMatchObject([["raised", 0, { name: "SerializationError" }]]);
    expect([trace, runner.live, counts.ended]).toEqual([["finally"], 0, 1]);
  });
});

describe.skipIf(payloadFiles.realm === "")("arguments in a file", () => {
  const stored = () => readdirSync(directory.bulkDirectory()).filter((name) => name !== "owner.json");

  it("are read when the task is run, and stay right after others have been", () => {
    payloadFiles.useDirectory(directory.bulkDirectory());
    const { sent, take } = setUp();
    const kept: Uint8Array[] = [];
    const keep = (bytes: Uint8Array) => void kept.push(bytes);
    const serializer = { dumps: ([bytes]: Uint8Array[]) => bytes, loads: (bytes: Uint8Array) => [bytes] } as Serializer;
    for (const value of [1, 2]) {
      take(keep, { args: [new Uint8Array(1000).fill(value)], file: true });
      take(keep, { args: [new Uint8Array(1000).fill(value + 10)], file: true, serializer });
    }
    expect(kept.map((bytes) => [bytes[0], bytes.at(-1)])).toEqual([
      [1, 1],
      [11, 11],
      [2, 2],
      [12, 12],
    ]);
    expect(sent).toHaveLength(4);
  });

  it("that are large are read while others run, and their task then", async () => {
    payloadFiles.useDirectory(directory.bulkDirectory());
    const { runner, sent, take, counts } = setUp();
    const large = new Uint8Array(5_000_000).fill(3);
    take((bytes: Uint8Array) => [bytes.length, bytes[4_000_000]], { args: [large], file: true });
    const serializer = { dumps: ([bytes]: Uint8Array[]) => bytes, loads: (bytes: Uint8Array) => [bytes] } as Serializer;
    take((bytes: Uint8Array) => bytes.length, { args: [large], file: true, serializer });
    const dismissed = take(() => expect.unreachable(), { args: [large], file: true });
    take((x: number) => x, { args: [1] });
    expect(sent).toEqual([["result", 3, 1]]);
    runner.dismiss(dismissed, "enough");
    await vi.waitFor(() => expect(counts.ended).toBe(4));
    expect(sent.slice(2)).toEqual(
      expect.arrayContaining([
        ["result", 0, [5_000_000, 3]],
        ["result", 1, 5_000_000],
      ]),
    );
    expect([sent.length, runner.live]).toEqual([4, 0]);
  });

  it("that cannot be read fail their task, and their room is taken over", async () => {
    payloadFiles.useDirectory(directory.bulkDirectory());
    const { sent, take } = setUp();
    const serializer: Serializer = {
      dumps: () => new Uint8Array(5_000_000),
      loads: () => {
        throw new RangeError("not mine");
      },
    };
    take(() => expect.unreachable(), { file: true, serializer });
    await vi.waitFor(() => expect(sent).toHaveLength(1));
    expect(sent).toMatchObject([["raised", 0, { message: "not mine" }]]);
    const files = stored().length;
    payloadFiles.put(new Uint8Array(10));
    expect(stored()).toHaveLength(files);
  });

  it("remain the caller's when modules are missing", () => {
    payloadFiles.useDirectory(directory.bulkDirectory());
    const { take, session } = setUp();
    const wanted: unknown[] = [];
    Object.assign(session, { wantCode: (...about: unknown[]) => wanted.push(about) });
    const missing = new ModuleUnavailable("./x.mjs cannot be loaded", { hash: "abc" } as unknown as Dependency);
    const args = [new Uint8Array(200_000).fill(1)];
    take(() => expect.unreachable(), { args, file: true, unavailable: missing });
    expect(wanted).toEqual([[0, "./x.mjs cannot be loaded", ["abc"]]]);
    const names = stored();
    payloadFiles.put(new Uint8Array(200_000).fill(2));
    const contents = names.map((name) => readFileSync(join(directory.bulkDirectory(), name)));
    const sent = encode(args);
    expect(contents.some((bytes) => bytes.subarray(0, sent.length).equals(sent))).toBe(true);
  });

  it.each(["parked", "loading"])(
    "of tasks that are cancelled while %s are taken over, to be written again",
    async (state) => {
      payloadFiles.useDirectory(directory.bulkDirectory());
      const { runner, take } = setUp(state === "parked" ? 1 : 0);
      const gates = new Gates();
      take(gates.enter, { args: [0] });
      let loaded: () => void = () => undefined;
      const loading = new Promise<void>((resolve) => {
        loaded = resolve;
      });
      const tasks = Array.from({ length: 5 }, () =>
        take(() => expect.unreachable(), { file: true, ...(state === "loading" ? { loading } : {}) }),
      );
      const files = stored().length;
      for (const task of tasks) runner.dismiss(task, "enough");
      gates.end(0);
      loaded();
      await vi.waitFor(() => expect(runner.live).toBe(0));
      for (const _ of tasks) payloadFiles.put(new Uint8Array(10));
      expect(stored().length).toBe(files);
    },
  );
});

describe("maxConcurrency", () => {
  it("has tasks told of that wait, except those that may go back to their caller since code is missing", async () => {
    const { take, session } = setUp(1);
    Object.assign(session, { wantCode: () => undefined });
    const gates = new Gates();
    const told: string[] = [];
    using _ = events.on("task", ({ type, task }) => told.push(`${type} ${task.id}`));
    take(gates.enter, { args: [0] });
    const missing = new ModuleUnavailable("./x.mjs cannot be loaded", { hash: "abc" } as unknown as Dependency);
    take(() => expect.unreachable(), { unavailable: missing });
    const { promise: loading, reject } = withResolvers();
    // Nobody waits for it before its task has a place.
    loading.catch(() => undefined);
    take(() => expect.unreachable(), { loading });
    take(() => "done");
    await turn();
    expect(told).toEqual(["task-scheduled caller-0", "task-started caller-0", "task-scheduled caller-3"]);
    gates.end(0);
    await turn();
    reject(missing);
    while (told.length < 8) await turn();
    expect(told.filter((each) => each.endsWith("caller-1") || each.endsWith("caller-2"))).toEqual([]);
    expect(told.slice(-2)).toEqual(["task-stopped caller-3", "task-completed caller-3"]);
  });

  it("bounds what runs, starts the others in order, passes over those that were cancelled, and tells of all", async () => {
    type Action = { readonly kind: "take" | "end" | "dismiss"; readonly which: number };
    const action: fc.Arbitrary<Action> = fc.record({
      kind: fc.constantFrom("take", "take", "end", "dismiss"),
      which: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(action, { maxLength: 30 }), async (most, actions) => {
        const { runner, take } = setUp(most);
        const gates = new Gates();
        const tasks: RunningTask[] = [];
        const told: TaskEvent[] = [];
        using _ = events.on("task", (event) => told.push(event));
        const cancelled = new Set<string>();
        const cancelledBeforeStart = new Set<number>();
        const pick = <T>(from: readonly T[], which: number): T | undefined => from[which % Math.max(1, from.length)];
        for (const { kind, which } of actions) {
          if (kind === "take") tasks.push(take(gates.enter, { args: [tasks.length] }));
          else if (kind === "end") {
            const n = pick(gates.open, which);
            if (n !== undefined) gates.end(n);
          } else {
            const task = pick(
              tasks.filter(({ wireId }) => wireId >= 0),
              which,
            );
            if (task === undefined) continue;
            cancelled.add(task.id);
            if (task.state === "parked") cancelledBeforeStart.add(task.sequence);
            runner.dismiss(task, "enough");
          }
          await turn();
          expect(gates.open.length).toBeLessThanOrEqual(most);
          expect(runner.live).toBe(gates.open.length);
        }
        while (gates.open.length > 0) {
          for (const n of gates.open) gates.end(n);
          await turn();
        }
        expect(gates.entered).toEqual([...tasks.keys()].filter((n) => !cancelledBeforeStart.has(n)));
        expect(runner.live).toBe(0);
        await turn();
        // Observers of tasks hear of each stage once, and in order.
        for (const { id, sequence } of tasks) {
          const stages = told.flatMap(({ task, type, outcome }) => (task.id === id ? [outcome ?? type] : []));
          const code = cancelledBeforeStart.has(sequence) ? [] : ["task-started", "task-stopped"];
          expect(stages).toEqual(["task-scheduled", ...code, cancelled.has(id) ? "cancelled" : "returned"]);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("does not count a task that waits for a call of its own", async () => {
    const { take, sent } = setUp(1);
    const gates = new Gates();
    take(async () => {
      const calls = currentCallContext()?.calls;
      calls?.made();
      calls?.made();
      await gates.enter(0);
      calls?.ended();
      await gates.enter(1);
      calls?.ended();
      return "outer";
    });
    take(gates.enter, { args: [10] });
    take(gates.enter, { args: [11] });
    expect(gates.open).toEqual([0, 10]);
    gates.end(0);
    await turn();
    gates.end(1);
    await turn();
    expect(sent).toEqual([["result", 0, "outer"]]);
    expect(gates.open).toEqual([10]);
    gates.end(10);
    await turn();
    expect(gates.open).toEqual([11]);
    gates.end(11);
  });

  it("gives its place back when a task ends while a call of its own is under way", async () => {
    const { take, runner } = setUp(1);
    const gates = new Gates();
    let ended: (() => void) | undefined;
    take(() => {
      const calls = currentCallContext()?.calls;
      calls?.made();
      ended = () => calls?.ended();
      return "over";
    });
    take(gates.enter, { args: [1] });
    take(gates.enter, { args: [2] });
    ended?.();
    expect([gates.open, runner.live]).toEqual([[1], 1]);
    gates.end(1);
    await turn();
    expect(gates.open).toEqual([2]);
    gates.end(2);
    await turn();
    expect(runner.live).toBe(0);
  });

  describe("does not count a generator that nobody asks for more", () => {
    async function* count(): AsyncGenerator<number, void, unknown> {
      for (let i = 0; ; i++) yield i;
    }

    it("and lets it wait for its turn when somebody does", async () => {
      const { take, sent } = setUp(1);
      const gates = new Gates();
      const stream = take(count, { streams: true });
      stream.run?.credit(1);
      await turn();
      expect([sent.length, stream.state]).toEqual([1, "resting"]);
      take(gates.enter, { args: [1] });
      expect(gates.open).toEqual([1]);
      stream.run?.credit(2);
      await turn();
      expect([sent.length, stream.state]).toEqual([1, "due"]);
      gates.end(1);
      await turn();
      expect(sent.slice(1)).toEqual([
        ["result", 1, 1],
        ["yielded", 0, 1],
        ["yielded", 0, 2],
      ]);
      expect(stream.state).toBe("resting");
    });

    it.each(["resting", "due"] as const)("and closes it at once when it is dismissed while it is %s", async (state) => {
      const { take, runner } = setUp(1);
      const gates = new Gates();
      let closed = false;
      const stream = take(
        async function* () {
          try {
            yield 1;
          } finally {
            closed = true;
          }
        },
        { streams: true },
      );
      stream.run?.credit(1);
      await turn();
      take(gates.enter, { args: [1] });
      if (state === "due") stream.run?.credit(1);
      expect(stream.state).toBe(state);
      runner.dismiss(stream, "enough");
      await turn();
      expect([closed, stream.state, runner.live, runner.waiting]).toEqual([true, "ended", 1, 0]);
      take(gates.enter, { args: [2] });
      expect(gates.open).toEqual([1]);
      gates.end(1);
      await turn();
      expect(gates.open).toEqual([2]);
      gates.end(2);
    });

    it("and not either while a call that it has made is under way", async () => {
      const { take, sent } = setUp(1);
      const gates = new Gates();
      let ended: (() => void) | undefined;
      const stream = take(
        async function* () {
          const calls = currentCallContext()?.calls;
          calls?.made();
          ended = () => calls?.ended();
          yield 1;
          yield 2;
          await gates.enter(0);
        },
        { streams: true },
      );
      stream.run?.credit(1);
      await turn();
      take(gates.enter, { args: [1] });
      take(gates.enter, { args: [2] });
      stream.run?.credit(1);
      await turn();
      expect([sent.length, stream.state, gates.open]).toEqual([2, "resting", [1]]);
      ended?.();
      expect(stream.state).toBe("resting");
      stream.run?.credit(1);
      expect(stream.state).toBe("due");
      gates.end(1);
      await turn();
      gates.end(2);
      await turn();
      expect(gates.open).toEqual([0]);
      gates.end(0);
    });
  });
});
