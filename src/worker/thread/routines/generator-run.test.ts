import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StepKind } from "../../../wire/fields.ts";
import { GeneratorRun } from "./generator-run.ts";

type AnyStream = AsyncGenerator<unknown, unknown, unknown> | Generator<unknown, unknown, unknown>;

/** Keeps the output. */
function start(generator: AnyStream) {
  const out: unknown[] = [];
  const run = new GeneratorRun(
    generator,
    {
      yielded: (value, control) => out.push({ value, control }),
      returned: (value) => out.push({ returned: value }),
      threw: (error) => out.push({ threw: error }),
    },
    (step) => step(),
  );
  return { run, out };
}

async function idle(): Promise<void> {
  for (let i = 0; i < 4; i++) await turn();
}

const shapes: Record<string, () => AnyStream> = {
  async: async function* () {
    let answer: unknown = "start";
    for (;;) {
      try {
        answer = ["sent", yield answer];
      } catch (error) {
        answer = ["caught", error];
      }
    }
  },
  sync: function* () {
    let answer: unknown = "start";
    for (let i = 0; i < 6; i++) {
      try {
        answer = ["sent", yield answer];
      } catch (error) {
        answer = ["caught", error];
      }
    }
    return answer;
  },
  stubborn: async function* () {
    try {
      yield 1;
      await turn();
      yield 2;
    } finally {
      const sent: unknown = yield "closing";
      yield ["still", sent];
    }
    return "end";
  },
  failing: function* () {
    yield 1;
    throw new RangeError("two");
  },
};

type Step = { readonly kind: StepKind; readonly value: unknown };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant({ kind: StepKind.next, value: undefined }) },
    { weight: 1, arbitrary: fc.constant({ kind: StepKind.next, value: "v" }) },
    { weight: 1, arbitrary: fc.constant({ kind: StepKind.throw, value: "e" }) },
    { weight: 1, arbitrary: fc.constant({ kind: StepKind.return, value: "r" }) },
  ),
  { maxLength: 10 },
);

/** The answers of a local generator to the same steps, up to its end. */
async function expected(generator: AnyStream, script: readonly Step[]): Promise<unknown[]> {
  const out: unknown[] = [];
  for (const { kind, value } of script) {
    try {
      const result =
        kind === StepKind.next
          ? await generator.next(value)
          : await (kind === StepKind.throw ? generator.throw(value) : generator.return(value));
      if (result.done === true) return [...out, { returned: result.value }];
      out.push({ value: result.value, control: kind !== StepKind.next });
    } catch (error) {
      return [...out, { threw: error }];
    }
  }
  return out;
}

describe.each(Object.entries(shapes))("GeneratorRun (%s)", (_name, shape) => {
  it("does what a local generator does, however fast its steps are asked for", async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.infiniteStream(fc.boolean()), async (script, pauses) => {
        const { run, out } = start(shape());
        let plain = 0;
        for (const { kind, value } of script) {
          if (kind === StepKind.next && value === undefined) {
            plain++;
            run.credit(1);
          } else run.step(kind, value, plain);
          if (pauses.next().value) await turn();
        }
        await idle();
        expect(out).toEqual(await expected(shape(), script));
      }),
      { numRuns: 60 },
    );
  });
});

describe("GeneratorRun", () => {
  const numbers = function* () {
    for (let i = 0; ; i++) yield i;
  };

  it("runs as far as it is allowed and no farther", async () => {
    const { run, out } = start(numbers());
    await idle();
    expect(out).toEqual([]);
    run.credit(3);
    await idle();
    expect(out).toHaveLength(3);
    run.credit(2);
    await idle();
    expect(out).toHaveLength(5);
  });

  it("drops what it was allowed ahead of a throw or a return, and keeps what was asked for before it", async () => {
    const { run, out } = start(numbers());
    run.credit(10);
    run.step(StepKind.return, "r", 3);
    await idle();
    expect(out.slice(0, 3)).toEqual([0, 1, 2].map((value) => ({ value, control: false })));
    expect(out.slice(3)).toEqual([{ returned: "r" }]);
  });

  it("that goes on after a throw does not run ahead any more", async () => {
    const { run, out } = start(shapes["sync"]?.() ?? numbers());
    run.credit(10);
    run.step(StepKind.throw, "e", 2);
    await idle();
    expect(out.slice(2)).toEqual([{ value: ["caught", "e"], control: true }]);
    run.credit(1);
    await idle();
    expect(out).toHaveLength(4);
  });

  it("that goes on after a throw counts from there, whatever it had run ahead", async () => {
    const { run, out } = start(shapes["async"]?.() ?? numbers());
    run.credit(5);
    await idle();
    run.step(StepKind.throw, "one", 1);
    await idle();
    out.length = 0;
    // Asked for at once: two plain steps, a throw behind them, and one more.
    run.credit(2);
    run.step(StepKind.throw, "two", 3);
    run.credit(1);
    await idle();
    const sent = { value: ["sent", undefined], control: false };
    expect(out).toEqual([sent, sent, { value: ["caught", "two"], control: true }, sent]);
  });

  it("takes one step at a time", async () => {
    let inside = 0;
    let most = 0;
    const { run, out } = start(
      (async function* () {
        for (let i = 0; i < 5; i++) {
          most = Math.max(most, ++inside);
          await turn();
          inside--;
          yield i;
        }
      })(),
    );
    for (let i = 0; i < 5; i++) run.credit(1);
    while (out.length < 5) await turn();
    expect(most).toBe(1);
  });

  it("runs every step in the task's context", async () => {
    let steps = 0;
    const run = new GeneratorRun(
      numbers(),
      { yielded: () => undefined, returned: () => undefined, threw: () => undefined },
      (step) => {
        steps++;
        return step();
      },
    );
    run.credit(2);
    await idle();
    run.step(StepKind.throw, "e", 2);
    await idle();
    await run.close();
    expect(steps).toBe(4);
  });

  it("waits for promises that a synchronous generator yields or returns", async () => {
    const { run, out } = start(
      (function* () {
        yield Promise.resolve(1);
        return Promise.resolve(2);
      })(),
    );
    run.credit(2);
    await idle();
    expect(out).toEqual([{ value: 1, control: false }, { returned: 2 }]);
  });

  it("tells of promises that a synchronous generator yields or returns and that reject", async () => {
    const shapes = [
      function* () {
        yield Promise.reject(new RangeError("rejected"));
      },
      function* () {
        return Promise.reject(new RangeError("rejected"));
      },
    ];
    for (const shape of shapes) {
      const { run, out } = start(shape());
      run.credit(1);
      await idle();
      expect(out).toEqual([{ threw: new RangeError("rejected") }]);
    }
  });

  it("asks a thenable that a synchronous generator yields or returns in the task's context", async () => {
    const context = new AsyncLocalStorage<string>();
    const lazy = () => ({ ["then"]: (resolve: (value: unknown) => void) => resolve(context.getStore()) });
    const out: unknown[] = [];
    const run = new GeneratorRun(
      (function* () {
        yield lazy();
        return lazy();
      })(),
      { yielded: (value) => out.push(value), returned: (value) => out.push(value), threw: (error) => out.push(error) },
      (step) => context.run("the task's", step),
    );
    run.credit(2);
    await idle();
    expect(out).toEqual(["the task's", "the task's"]);
  });

  it("ignores steps after the end", async () => {
    const { run, out } = start(shapes["failing"]?.() ?? numbers());
    run.credit(5);
    run.step(StepKind.next, "v", 5);
    await idle();
    run.credit(1);
    await idle();
    expect(out).toEqual([{ value: 1, control: false }, { threw: new RangeError("two") }]);
  });
});

describe("GeneratorRun.close", () => {
  it("runs the finally blocks, drops what they give, and resolves after them", async () => {
    const trace: string[] = [];
    const { run, out } = start(
      (async function* () {
        try {
          yield 1;
        } finally {
          await turn();
          trace.push("finally");
          yield "from finally";
        }
      })(),
    );
    run.credit(1);
    await idle();
    await run.close();
    expect(trace).toEqual(["finally"]);
    expect(out).toEqual([{ value: 1, control: false }]);
    run.credit(1);
    await idle();
    expect(out).toHaveLength(1);
  });

  it("waits for the step under way, and drops what comes of it", async () => {
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const trace: string[] = [];
    const { run, out } = start(
      (async function* () {
        try {
          await gate;
          yield 1;
        } finally {
          trace.push("finally");
        }
      })(),
    );
    run.credit(1);
    await idle();
    const closed = run.close().then(() => trace.push("closed"));
    await idle();
    expect(trace).toEqual([]);
    go();
    await closed;
    expect(trace).toEqual(["finally", "closed"]);
    expect(out).toEqual([]);
  });

  it("says nothing of an end that comes after it", async () => {
    let settle: (value: number) => void = () => undefined;
    const last = new Promise<number>((resolve) => {
      settle = resolve;
    });
    const { run, out } = start(
      (function* () {
        return last;
      })(),
    );
    run.credit(1);
    await idle();
    await run.close();
    settle(5);
    await idle();
    expect(out).toEqual([]);
  });

  it("takes a generator that fails on its way out, and one that was never started", async () => {
    const { run, out } = start(
      (function* () {
        try {
          yield 1;
        } finally {
          // oxlint-disable-next-line no-unsafe-finally -- what a throw in a finally block does is the point
          throw new RangeError("late");
        }
      })(),
    );
    run.credit(1);
    await idle();
    await expect(run.close()).resolves.toBeUndefined();
    expect(out).toHaveLength(1);
    await expect(start(numbersNeverStarted()).run.close()).resolves.toBeUndefined();
  });
});

function* numbersNeverStarted(): Generator<number, void, unknown> {
  yield 1;
}
