import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { routine, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";

// Properties are tried many times, which takes long on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

type AnyStream = AsyncGenerator<unknown, unknown, unknown>;

/** A generator for each way to meet what a caller does: answer it, end, fail, or yield on the way out. */
const shapes = {
  echo: routine(async function* (): AnyStream {
    let answer: unknown = "start";
    for (;;) {
      try {
        answer = ["sent", yield answer];
      } catch (error) {
        answer = ["caught", String(error)];
      }
    }
  }),
  short: routine(async function* (): AnyStream {
    const first: unknown = yield 1;
    const second: unknown = yield [2, first];
    return [3, second];
  }),
  empty: routine(async function* (): AnyStream {
    return "nothing";
  }),
  failing: routine(async function* (): AnyStream {
    yield 1;
    throw new RangeError("two");
  }),
  stubborn: routine(async function* (): AnyStream {
    try {
      yield 1;
      yield 2;
      yield 3;
    } finally {
      const sent: unknown = yield "closing";
      yield ["still", sent];
    }
    return "end";
  }),
  overriding: routine(async function* (): AnyStream {
    try {
      yield 1;
      yield 2;
    } finally {
      await Promise.resolve();
      // oxlint-disable-next-line no-unsafe-finally -- what a return in a finally block does is the point
      return "overridden";
    }
  }),
  delegating: routine(async function* (): AnyStream {
    const inner = async function* (): AnyStream {
      try {
        return ["inner", yield "in"];
      } catch (error) {
        yield ["inner caught", String(error)];
        return "recovered";
      }
    };
    yield "before";
    const result: unknown = yield* inner();
    return ["outer", result];
  }),
  sync: routine(function* (): Generator<unknown, unknown, unknown> {
    let answer: unknown = "start";
    for (let i = 0; i < 4; i++) {
      try {
        answer = ["sent", yield answer];
      } catch (error) {
        if (error instanceof TypeError) throw error;
        answer = ["caught", String(error)];
      }
    }
    return answer;
  }),
};

type Step = { readonly kind: "next" | "throw" | "return"; readonly value: unknown };

const errors = { range: new RangeError("r"), type: new TypeError("t") };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("next" as const), value: fc.constantFrom(undefined, 1, "v", null) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("throw" as const), value: fc.constantFrom(errors.range, errors.type) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("return" as const), value: fc.constantFrom(undefined, "r") }) },
);

/** Groups of steps: those of a group are taken at once, the next group when all of them have been answered. */
const script = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });

function take(stream: AnyStream, { kind, value }: Step): Promise<IteratorResult<unknown, unknown>> {
  if (kind === "next") return value === undefined ? stream.next() : stream.next(value);
  return kind === "throw" ? stream.throw(value) : stream.return(value);
}

async function perform(stream: AnyStream, groups: readonly (readonly Step[])[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const group of groups) {
    const answers = await Promise.allSettled(group.map((one) => take(stream, one)));
    for (const answer of answers) {
      results.push(answer.status === "fulfilled" ? answer.value : `threw ${String(answer.reason)}`);
    }
  }
  // An end that both can reach: a generator that yields on its way out needs more than one return.
  for (let i = 0; i < 5; i++) await stream.return(undefined).catch(() => undefined);
  return results;
}

for (const [name, shape] of Object.entries(shapes)) {
  test(`a remote generator (${name}) answers any steps as a local one does`, async () => {
    await fc.assert(
      fc.asyncProperty(script, async (groups) => {
        const expected = await perform(shape.local(), groups);
        expect(await perform(shape(), groups)).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });
}

/** Counts from its last throw on, so that what it answers does not tell how far it was run ahead. */
const recounting = routine(async function* (): AnyStream {
  let answer: number | string = 0;
  for (;;) {
    try {
      yield answer;
      answer = typeof answer === "number" ? answer + 1 : 0;
    } catch (error) {
      answer = String(error);
    }
  }
});

test.each([1, 2, 5])("one with a prefetch of %i does so too, also after throws that it catches", async (prefetch) => {
  await fc.assert(
    fc.asyncProperty(script, async (groups) => {
      // A value cannot be sent to a generator that runs ahead.
      const plain = groups.map((group) =>
        group.map((one) => (one.kind === "next" ? { ...one, value: undefined } : one)),
      );
      const expected = await perform(recounting.local(), plain);
      expect(await perform(recounting.with({ prefetch })(), plain)).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});
