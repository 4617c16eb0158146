import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Call } from "../call/call.ts";
import { RemoteFailure } from "../call/remote-failure.ts";
import { InvalidArgument, SerializationError, TaskTimeout } from "../errors.ts";
import type { StepKind } from "../wire/fields.ts";
import { GeneratorRun } from "../worker/thread/routines/generator-run.ts";
import { RemoteGenerator } from "./remote-generator.ts";
import type { RemoteTask } from "./remote-task.ts";

type AnyStream = AsyncGenerator<unknown, unknown, unknown>;

/** A channel that keeps the order of messages and delays them. */
class Way {
  #last: Promise<unknown> = Promise.resolve();
  readonly #turns: () => number;

  constructor(turns: () => number) {
    this.#turns = turns;
  }

  send(deliver: () => void): void {
    this.#last = this.#last.then(async () => {
      for (let left = this.#turns(); left > 0; left--) await turn();
      deliver();
    });
  }
}

/** A worker that runs one generator, and the channels to and from it. */
class FakeWorker {
  readonly stream: RemoteGenerator;
  readonly steps: { kind: StepKind; value: unknown; after: number }[] = [];
  credits: number[] = [];
  dispatches = 0;
  isWaitedFor = true;

  constructor(shape: () => AnyStream, prefetch: number, turns: () => number = () => 0) {
    const [there, back] = [new Way(turns), new Way(turns)];
    const call: { task?: RemoteTask; ask(): void } = { ask: () => undefined };
    this.stream = new RemoteGenerator(prefetch, undefined, (stream) => {
      this.dispatches++;
      const run = new GeneratorRun(
        shape(),
        {
          yielded: (value, control) => back.send(() => stream.yielded(value, control)),
          returned: (value) => back.send(() => stream.returned(value)),
          threw: (error) => back.send(() => stream.failed(new RemoteFailure(error))),
        },
        (step) => step(),
      );
      const task: RemoteTask = {
        isWritten: true,
        cancel: () => undefined,
        abortSignal: () => undefined,
        credit: (steps) => {
          this.credits.push(steps);
          there.send(() => run.credit(steps));
        },
        step: (kind, value, after) => {
          if (value instanceof WeakRef) throw new SerializationError("a WeakRef cannot travel", "value");
          this.steps.push({ kind, value, after });
          there.send(() => run.step(kind, value, after));
        },
        setWaitedFor: (isWaitedFor) => {
          this.isWaitedFor = isWaitedFor;
        },
      };
      there.send(() => {
        call.task = task;
        there.send(() => run.credit(1 + prefetch));
        stream.opened();
      });
      return call as Call;
    });
  }
}

const shapes: Record<string, () => AnyStream> = {
  echo: async function* () {
    let answer: unknown = "start";
    for (;;) {
      try {
        answer = ["sent", yield answer];
      } catch (error) {
        answer = ["caught", error];
      }
    }
  },
  short: async function* () {
    const first: unknown = yield 1;
    return [2, first, yield 3];
  },
  failing: async function* () {
    yield 1;
    throw new RangeError("two");
  },
  stubborn: async function* () {
    try {
      yield 1;
      yield 2;
    } finally {
      const sent: unknown = yield "closing";
      yield ["still", sent];
    }
    return "end";
  },
  overriding: async function* () {
    try {
      for (let i = 0; ; i++) yield i;
    } catch {
      return "caught";
    }
  },
  empty: async function* () {
    return "nothing";
  },
};

interface Step {
  readonly kind: "next" | "throw" | "return";
  readonly value: unknown;
}

const plain: fc.Arbitrary<Step> = fc.constant({ kind: "next", value: undefined });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: plain },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("next" as const), value: fc.constantFrom(1, "v", null) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("throw" as const), value: fc.constantFrom("e", "f") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("return" as const), value: fc.constantFrom("r", undefined) }) },
);
/** Steps of a group are taken at once, the next group when all of them have been answered. */
const groupsOf = (step: fc.Arbitrary<Step>) =>
  fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });
const delays = fc.infiniteStream(fc.nat(2));

function take(stream: AnyStream, { kind, value }: Step): Promise<IteratorResult<unknown, unknown>> {
  if (kind === "next") return value === undefined ? stream.next() : stream.next(value);
  return kind === "throw" ? stream.throw(value) : stream.return(value);
}

async function perform(stream: AnyStream, groups: readonly (readonly Step[])[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const group of groups) {
    const answers = await Promise.allSettled(group.map((step) => take(stream, step)));
    for (const answer of answers) results.push(answer.status === "fulfilled" ? answer.value : ["threw", answer.reason]);
  }
  return results;
}

describe.each(Object.entries(shapes))("a remote generator (%s)", (_name, shape) => {
  it("answers any steps as a local one does", async () => {
    await fc.assert(
      fc.asyncProperty(groupsOf(anyStep), delays, async (groups, turns) => {
        const { stream } = new FakeWorker(shape, 0, () => turns.next().value);
        expect(await perform(stream, groups)).toEqual(await perform(shape(), groups));
      }),
      { numRuns: 60 },
    );
  });

  it("that runs ahead answers plain steps as a local one does", async () => {
    await fc.assert(
      fc.asyncProperty(groupsOf(plain), delays, fc.integer({ min: 1, max: 6 }), async (groups, turns, prefetch) => {
        const { stream } = new FakeWorker(shape, prefetch, () => turns.next().value);
        expect(await perform(stream, groups)).toEqual(await perform(shape(), groups));
      }),
      { numRuns: 40 },
    );
  });
});

describe("a remote generator", () => {
  const numbers = async function* () {
    for (let i = 0; ; i++) yield i;
  };

  it("sends nothing before its first step, and never when that ends it", async () => {
    const worker = new FakeWorker(numbers, 0);
    expect(await worker.stream.return("r")).toEqual({ done: true, value: "r" });
    expect(await worker.stream.next()).toEqual({ done: true, value: undefined });
    expect(worker.dispatches).toBe(0);
    const other = new FakeWorker(numbers, 0);
    await expect(other.stream.throw("t")).rejects.toBe("t");
    expect(other.dispatches).toBe(0);
  });

  it("is dispatched once", async () => {
    const worker = new FakeWorker(numbers, 0);
    await Promise.all([worker.stream.next(), worker.stream.next(), worker.stream.next()]);
    expect(worker.dispatches).toBe(1);
  });

  it("tells the worker which step comes after how many plain ones", async () => {
    const worker = new FakeWorker(numbers, 0);
    await Promise.all([worker.stream.next(), worker.stream.next(), worker.stream.next("v"), worker.stream.return("r")]);
    expect(worker.steps.map(({ value, after }) => [value, after])).toEqual([
      ["v", 2],
      ["r", 2],
    ]);
  });

  it("allows the worker no more than it asked for and the prefetch, in few messages", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 9 }), fc.nat(30), async (prefetch, steps) => {
        const worker = new FakeWorker(numbers, prefetch);
        for (let asked = 1; asked <= steps; asked++) {
          await worker.stream.next();
          const granted = worker.credits.reduce((sum, credit) => sum + credit, 1 + prefetch);
          expect(granted).toBeLessThanOrEqual(asked + prefetch);
          expect(granted).toBeGreaterThanOrEqual(asked);
        }
        expect(worker.credits.length).toBeLessThanOrEqual(Math.ceil(steps / Math.ceil(prefetch / 2)));
      }),
      { numRuns: 30 },
    );
  });

  it("drops what it fetched when it is told to return", async () => {
    const worker = new FakeWorker(numbers, 5);
    await worker.stream.next();
    await turn();
    expect(await worker.stream.return("r")).toEqual({ done: true, value: "r" });
    expect(await worker.stream.next()).toEqual({ done: true, value: undefined });
  });

  it("goes on from the answer to a throw, not from what it fetched before that", async () => {
    const worker = new FakeWorker(async function* () {
      for (let i = 0; ; i++) {
        try {
          yield i;
        } catch (error) {
          yield ["caught", error];
        }
      }
    }, 3);
    await worker.stream.next();
    for (let i = 0; i < 10; i++) await turn();
    expect(await worker.stream.throw("e")).toEqual({ done: false, value: ["caught", "e"] });
    expect(await worker.stream.next()).toEqual({ done: false, value: 4 });
    expect(await worker.stream.next()).toEqual({ done: false, value: 5 });
  });

  it("that runs ahead takes no values, once it runs", async () => {
    const worker = new FakeWorker(numbers, 2);
    expect(await worker.stream.next("first")).toEqual({ done: false, value: 0 });
    await expect(worker.stream.next("second")).rejects.toThrow(InvalidArgument);
    expect(await worker.stream.next()).toEqual({ done: false, value: 1 });
  });

  it("an end that was reached by running ahead is no answer to whoever leaves before it", async () => {
    const worker = new FakeWorker(async function* () {
      yield 1;
      yield 2;
      return "end";
    }, 5);
    await worker.stream.next();
    await turn();
    expect(await worker.stream.return("r")).toEqual({ done: true, value: "r" });
  });

  it("nor is a failure, whether or not values before it were taken", async () => {
    for (const taken of [1, 2]) {
      const worker = new FakeWorker(async function* () {
        yield 1;
        yield 2;
        throw new RangeError("ahead");
      }, 5);
      for (let i = 0; i < taken; i++) await worker.stream.next();
      await turn();
      expect(await worker.stream.return("r")).toEqual({ done: true, value: "r" });
    }
  });

  it("that is cancelled fails at the next step, whatever it fetched or still gets", async () => {
    const worker = new FakeWorker(numbers, 5);
    await worker.stream.next();
    await turn();
    worker.stream.cancelled();
    worker.stream.failed(new RemoteFailure("why"));
    worker.stream.yielded("late", false);
    await expect(worker.stream.next()).rejects.toBe("why");
    expect(await worker.stream.next()).toEqual({ done: true, value: undefined });
  });

  it("fails at the next step when the worker is the first to say that its time is up", async () => {
    for (const { timeout, values } of [
      { timeout: 1, values: 0 },
      { timeout: 60_000, values: 1 },
    ]) {
      const task = { isWritten: true, setWaitedFor: () => undefined };
      const call = { task, extras: { timeout } } as unknown as Call;
      const stream = new RemoteGenerator(5, undefined, () => call);
      const first = stream.next();
      stream.opened();
      for (const value of [1, 2]) stream.yielded(value, false);
      await first;
      stream.failed(new RemoteFailure(new TaskTimeout("time")));
      for (let i = 0; i < values; i++) await stream.next();
      await expect(stream.next()).rejects.toThrow(TaskTimeout);
    }
  });

  it("whose value cannot travel fails that step and goes on", async () => {
    const worker = new FakeWorker(shapes["echo"] ?? numbers, 0);
    await worker.stream.next();
    const steps = [worker.stream.next(new WeakRef({})), worker.stream.throw(new WeakRef({})), worker.stream.next("v")];
    const [first, second, third] = await Promise.allSettled(steps);
    expect(first).toMatchObject({ status: "rejected", reason: { name: "SerializationError" } });
    expect(second).toMatchObject({ status: "rejected", reason: { name: "SerializationError" } });
    expect(third).toMatchObject({ status: "fulfilled", value: { value: ["sent", "v"] } });
  });

  it("that cannot be dispatched fails at its first step and is over then", async () => {
    const error = new RangeError("x");
    const stream = new RemoteGenerator(0, undefined, () => {
      throw error;
    });
    await expect(stream.next()).rejects.toBe(error);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it("that is lost fails the step that waits, and ends those behind it", async () => {
    const stream = new RemoteGenerator(0, undefined, () => ({}) as Call);
    const steps = [stream.next(), stream.next(), stream.return("r")];
    stream.failed(new RemoteFailure(new RangeError("lost")));
    stream.failed(new RemoteFailure(new RangeError("again")));
    expect(await Promise.allSettled(steps)).toMatchObject([
      { status: "rejected", reason: { message: "lost" } },
      { status: "fulfilled", value: { done: true, value: undefined } },
      { status: "fulfilled", value: { done: true, value: "r" } },
    ]);
  });

  it("tells its observer of each step once, however it ends", async () => {
    const observer = { made: vi.fn(), ended: vi.fn() };
    const stream = new RemoteGenerator(0, observer, () => ({ ask: () => undefined }) as Call);
    const steps = [stream.next(), stream.next(), stream.next()];
    expect([observer.made.mock.calls.length, observer.ended.mock.calls.length]).toEqual([3, 0]);
    stream.yielded(1, false);
    stream.failed(new RemoteFailure("x"));
    await Promise.allSettled([...steps, stream.next()]);
    expect([observer.made.mock.calls.length, observer.ended.mock.calls.length]).toEqual([4, 4]);
  });

  it.each([0, 2])("is waited for while a step is, and not in between (prefetch %i)", async (prefetch) => {
    const worker = new FakeWorker(async function* () {
      for (;;) yield 1;
    }, prefetch);
    const { stream } = worker;
    await stream.next();
    expect(worker.isWaitedFor).toBe(false);
    const [first, second] = [stream.return(1), stream.next()];
    expect(worker.isWaitedFor).toBe(true);
    await Promise.all([first, second]);
    const other = new FakeWorker(async function* () {
      for (;;) yield 1;
    }, 0);
    await other.stream.next();
    const steps = [other.stream.next(), other.stream.next()];
    expect(other.isWaitedFor).toBe(true);
    await steps[0];
    expect(other.isWaitedFor).toBe(true);
    await steps[1];
    expect(other.isWaitedFor).toBe(false);
    await expect(other.stream.next(new WeakRef({}))).rejects.toThrow(SerializationError);
    expect(other.isWaitedFor).toBe(false);
  });

  it("whose call a worker gives back sends its steps to the next, and those asked for before once more", async () => {
    const sent: unknown[] = [];
    const taskOf = (id: number) => ({
      isWritten: true,
      credit: (steps: number) => sent.push([id, "credit", steps]),
      step: (_kind: StepKind, value: unknown) => sent.push([id, "step", value]),
      setWaitedFor: () => undefined,
    });
    const call: { task?: unknown; ask(): void } = { ask: () => undefined };
    const stream = new RemoteGenerator(0, undefined, () => call as Call);
    const steps = [stream.next(), stream.next()];
    call.task = taskOf(0);
    stream.opened();
    call.task = undefined;
    steps.push(stream.next("v"));
    call.task = taskOf(1);
    stream.opened();
    steps.push(stream.next());
    expect(sent).toEqual([
      [0, "credit", 1],
      [1, "credit", 1],
      [1, "step", "v"],
      [1, "credit", 1],
    ]);
    for (let i = 0; i < 4; i++) stream.yielded(i, false);
    expect((await Promise.all(steps)).map(({ value }) => value)).toEqual([0, 1, 2, 3]);
  });

  it("is closed by `await using`", async () => {
    let closed = false;
    const worker = new FakeWorker(async function* () {
      try {
        yield 1;
      } finally {
        closed = true;
      }
    }, 0);
    {
      await using stream = worker.stream;
      expect(stream[Symbol.asyncIterator]()).toBe(stream);
      await stream.next();
    }
    expect(closed).toBe(true);
  });
});
