import { afterEach, describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { acceptDependency } from "../functions/index.ts";
import { ValueDecoder, ValueEncoder } from "../values/index.ts";
import type { CallCarrier } from "./call-carrier.ts";
import { addOpenPool, extendCallContext, removeOpenPool } from "./call-context.ts";
import type { CallOptions } from "./options.ts";
import { routine } from "./routine.ts";
import { dispatchThrough, requireFunctionRoutine } from "./routine-object.ts";
import { routineSpecOf } from "./routine-registry.ts";
import type { RoutineSpec } from "./routine-spec.ts";

interface Sent {
  readonly kind: "call" | "stream";
  readonly spec: RoutineSpec;
  readonly args: readonly unknown[];
  readonly options: CallOptions | undefined;
}

/** Records the calls that it gets. */
class FakePool implements CallCarrier {
  readonly sent: Sent[] = [];

  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown> {
    this.sent.push({ kind: "call", spec, args, options });
    return Promise.resolve("remote");
  }

  async *stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown> {
    this.sent.push({ kind: "stream", spec, args, options });
    yield "remote";
    return undefined;
  }

  run<T>(fn: () => T): T {
    return extendCallContext({ carrier: this }, fn);
  }

  get last(): Sent {
    const sent = this.sent.at(-1);
    if (sent === undefined) throw new Error("nothing was sent");
    return sent;
  }
}

/** `routine` as untyped programs see it. */
const untyped = routine as unknown as (...args: unknown[]) => unknown;

const opened: FakePool[] = [];
afterEach(() => {
  for (const pool of opened.splice(0)) removeOpenPool(pool);
});

describe("routine()", () => {
  it.each([[1], ["fn"], [null], [undefined], [[]], [Promise.resolve(1)], [new Map()], [new Date()]])(
    "refuses %s",
    (value) => {
      expect(() => untyped(value)).toThrow(InvalidArgument);
      expect(() => untyped(value)).toThrow("write routine(async () => ...)");
    },
  );

  it("refuses options that are wrong, for functions and for decorators", () => {
    expect(() => untyped(async () => 1, { timeout: "x" })).toThrow(/"timeout" must be/);
    expect(() => untyped(async () => 1, 5)).toThrow(/options object/);
    expect(() => untyped({ timout: 5 })).toThrow(/did you mean "timeout"/);
    expect(() => untyped({ signal: new AbortController().signal })).toThrow(InvalidArgument);
  });

  it("has the name and the length of its function", () => {
    const add = routine(async function add(_a: number, _b: number) {});
    expect([add.name, add.length]).toEqual(["add", 2]);
    expect(routine(async () => 1).name).toBe("anonymous");
    expect(routine(async () => 1, { name: "given" }).name).toBe("given");
    expect(routine(async function add() {}).with({ name: "other" }).name).toBe("other");
  });

  it("shows no properties of its own", () => {
    expect(Object.keys(routine(async () => 1))).toEqual([]);
  });

  it("of a routine takes the function inside", () => {
    const fn = async () => 1;
    expect(routineSpecOf(routine(routine(fn)))?.fn).toBe(fn);
  });

  it("of a routine keeps the options that it is not given", () => {
    const patient = routine(async () => 1, { timeout: 50, name: "patient" });
    expect(routineSpecOf(routine(patient, { name: "again" }))?.options).toEqual({ timeout: 50, name: "again" });
    expect(routine(patient).name).toBe("patient");
  });

  it("tells generators from functions", () => {
    const streams = (value: unknown) => routineSpecOf(value)?.streams;
    expect(streams(routine(async () => 1))).toBe(false);
    expect(streams(routine(() => 1))).toBe(false);
    expect(streams(routine(async function* () {}))).toBe(true);
    expect(streams(routine(function* () {}))).toBe(true);
  });
});

describe("a call", () => {
  it("outside of any pool runs right here", async () => {
    expect(await routine((a: number, b: number) => a + b)(1, 2)).toBe(3);
    const steps: number[] = [];
    for await (const step of routine(function* () {
      yield 1;
      yield 2;
    })()) {
      steps.push(step);
    }
    expect(steps).toEqual([1, 2]);
  });

  it("goes to the scope's pool, else to the newest open one", async () => {
    const [scope, older, newer] = [new FakePool(), new FakePool(), new FakePool()];
    opened.push(older, newer);
    const add = routine(async (a: number, b: number) => a + b);
    expect(await add(1, 2)).toBe(3);
    for (const pool of opened) addOpenPool(pool);
    expect(await add(1, 2)).toBe("remote");
    await scope.run(() => add(3, 4));
    expect(newer.sent.map(({ args }) => args)).toEqual([[1, 2]]);
    expect(scope.sent.map(({ args, options }) => [args, options])).toEqual([[[3, 4], undefined]]);
    expect(older.sent).toEqual([]);
  });

  it("goes where with({ pool }) says, whatever the scope", async () => {
    const [scope, chosen] = [new FakePool(), new FakePool()];
    const identity = routine(async (x: number) => x);
    await scope.run(() => identity.with({ pool: chosen })(1));
    expect([scope.sent.length, chosen.sent.length]).toEqual([0, 1]);
  });

  it("of a generator is a stream", async () => {
    const pool = new FakePool();
    const stream = pool.run(() =>
      routine(async function* (x: number) {
        yield x;
      })(5),
    );
    await stream.next();
    expect(pool.last).toMatchObject({ kind: "stream", args: [5] });
  });
});

describe("with()", () => {
  it("adds up, the last word wins, and leaves what it was called on alone", async () => {
    const pool = new FakePool();
    const base = routine(async () => 1, { timeout: 1 });
    const first = base.with({ timeout: 2, key: "a" });
    const second = first.with({ timeout: 3, dispatchTimeout: 4 });
    await pool.run(() => Promise.all([base(), first(), second()]));
    expect(pool.sent.map(({ options }) => options)).toEqual([
      undefined,
      { timeout: 2, key: "a" },
      { timeout: 3, key: "a", dispatchTimeout: 4 },
    ]);
  });

  it("keeps the routine, and so its code, unless what workers are told changes", () => {
    const base = routine(async () => 1, { timeout: 5 });
    const spec = routineSpecOf(base);
    expect(routineSpecOf(base.with({ timeout: 1, key: "k" }))).toBe(spec);
    const renamed = routineSpecOf(base.with({ name: "other" }));
    expect(renamed).not.toBe(spec);
    expect(renamed?.options).toEqual({ timeout: 5, name: "other" });
    const serializer = { dumps: () => new Uint8Array(0), loads: () => 1 };
    expect(routineSpecOf(base.with({ serializer }))?.options.serializer).toBe(serializer);
    expect(routineSpecOf(base.with({ ship: "value" }))?.options.ship).toBe("value");
  });

  it("refuses wrong options with the routine's name", () => {
    const add = routine(async function add() {});
    const loose = add as unknown as { with(options: unknown): unknown };
    expect(() => loose.with({ timeout: -1 })).toThrow(/^add\.with\(\): option "timeout"/);
    expect(() => loose.with(undefined)).toThrow(InvalidArgument);
    expect(() => loose.with({ pool: {} })).toThrow(/a WorkerPool or WorkerProxy/);
  });
});

describe("local()", () => {
  it("never dispatches", async () => {
    const pool = new FakePool();
    const add = routine(async (a: number, b: number) => a + b);
    expect(await pool.run(() => add.local(1, 2))).toBe(3);
    expect(await pool.run(() => add.with({ timeout: 5 }).local(3, 4))).toBe(7);
    const stream = pool.run(() =>
      routine(function* (x: number) {
        yield x;
      }).local(9),
    );
    expect(await stream.next()).toEqual({ done: false, value: 9 });
    expect(pool.sent).toEqual([]);
  });
});

/** Does what the decorator syntax does to a method. */
function decorate(holder: object, key: string, options?: object): void {
  const descriptor = Object.getOwnPropertyDescriptor(holder, key);
  const context = { kind: "method", name: key, static: typeof holder === "function", addInitializer: () => undefined };
  const made = options === undefined ? untyped : (untyped(options) as typeof untyped);
  Object.defineProperty(holder, key, { ...descriptor, value: made(descriptor?.value, context) });
}

describe("a decorated method", () => {
  class Model {
    static readonly scale = 2;
    readonly factor = 10;

    static async stretch(x: number) {
      return x * this.scale;
    }

    async times(x: number) {
      return x * this.factor;
    }
  }
  decorate(Model.prototype, "times");
  decorate(Model, "stretch", { timeout: 5, name: "stretched" });

  it("runs on its object, here or there", async () => {
    const model = new Model();
    const pool = new FakePool();
    const { times } = model as unknown as { times: { local(this: Model, x: number): Promise<number> } };
    expect(await times.local.call(model, 3)).toBe(30);
    const { stretch } = Model as unknown as { stretch: { local(this: typeof Model, x: number): Promise<number> } };
    expect(await stretch.local.call(Model, 3)).toBe(6);
    await pool.run(() => model.times(4));
    expect(pool.last.args).toEqual([model, 4]);
    expect(pool.last.spec.name).toBe("times");
    await pool.run(() => Model.stretch(4));
    expect(pool.last.args).toEqual([Model, 4]);
    expect(pool.last.spec).toMatchObject({ name: "stretched", method: true, options: { timeout: 5 } });
  });

  it("that is dispatched without its object gets its arguments all the same", async () => {
    const pool = new FakePool();
    await dispatchThrough(pool, Model.stretch, [7]);
    expect(pool.last.args).toEqual([undefined, 7]);
  });

  it("is named by a symbol if that is its key", () => {
    const context = { kind: "method", name: Symbol("refresh"), static: false, addInitializer: () => undefined };
    expect((untyped(async () => 1, context) as { name: string }).name).toBe("refresh");
  });

  it.each(["class", "field", "getter", "setter", "accessor"])("cannot be a %s", (kind) => {
    const context = { kind, name: "x", static: false, addInitializer: () => undefined };
    expect(() => untyped(() => 1, context)).toThrow(`@routine decorates methods, not a ${kind}`);
    const decorator = untyped({ timeout: 5 }) as typeof untyped;
    expect(() => decorator(() => 1, context)).toThrow(InvalidArgument);
  });

  it("in the older dialect is a property that holds a function", () => {
    const descriptor = { value: async () => 1, writable: true, enumerable: false, configurable: true };
    const made = untyped({}, "m", descriptor) as PropertyDescriptor;
    expect({ ...made, value: routineSpecOf(made.value)?.fn }).toEqual(descriptor);
    for (const wrong of [undefined, { get: () => 1 }, { value: 5 }]) {
      expect(() => untyped({}, "m", wrong)).toThrow("@routine decorates methods, and m is not one");
    }
    const decorator = untyped({ timeout: 5 }) as typeof untyped;
    expect(() => decorator({}, Symbol("s"), { get: () => 1 })).toThrow("Symbol(s) is not one");
    expect(() => decorator(class {}, undefined, undefined)).toThrow(InvalidArgument);
  });
});

describe("dispatchThrough()", () => {
  it("merges what with() said and what the call says", async () => {
    const pool = new FakePool();
    const add = routine(async (a: number, b: number) => a + b);
    await dispatchThrough(pool, add, [1, 2]);
    expect(pool.last.options).toBeUndefined();
    await dispatchThrough(pool, add.with({ timeout: 1, key: "k" }), [1, 2], { timeout: 2 });
    expect(pool.last.options).toEqual({ timeout: 2, key: "k" });
  });

  it("refuses what is not a routine", () => {
    function plain() {}
    expect(() => dispatchThrough(new FakePool(), plain, [])).toThrow("the function plain is not a routine");
    expect(() => requireFunctionRoutine(undefined, "map()")).toThrow("undefined is not a routine");
    const generator = routine(async function* numbers() {});
    expect(() => requireFunctionRoutine(generator, "map()")).toThrow(
      "map() takes a routine that returns one value, and numbers is a generator",
    );
  });
});

describe("a routine that travels", () => {
  async function travel<T>(value: T): Promise<T> {
    const encoder = new ValueEncoder();
    const bytes = Uint8Array.from(encoder.encode(value));
    for (const dependency of encoder.dependencies) await acceptDependency(dependency);
    return new ValueDecoder().decode(bytes) as T;
  }

  it("arrives as a routine, with its options, name and length", async () => {
    const arrived = await travel(routine(async function add(_a: number, _b: number) {}, { timeout: 5 }));
    expect(routineSpecOf(arrived)?.options).toEqual({ timeout: 5 });
    expect([arrived.name, arrived.length]).toEqual(["add", 2]);
    const pool = new FakePool();
    await pool.run(() => arrived(1, 2));
    expect(pool.last).toMatchObject({ kind: "call", args: [1, 2] });
  });

  it("keeps what with() said of its calls", async () => {
    const arrived = await travel(routine(async () => 1).with({ timeout: 5, key: "k", idempotent: true }));
    const pool = new FakePool();
    await pool.run(() => arrived());
    expect(pool.last.options).toEqual({ timeout: 5, key: "k", idempotent: true });
  });
});
