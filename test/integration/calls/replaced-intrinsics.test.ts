import { runInThisContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, TaskTimeout, WorkerLost, WorkerPool } from "wool-ts";
import { reasonOf } from "../../support/reason-of.ts";

/** Replaces a part of the language in its thread: an expression for the object, the key, and one for what takes its place. */
const REPLACEMENTS: readonly [holder: string, key: string, replacement: string][] = [
  ["Buffer", "from", "() => { throw new Error('replaced') }"],
  ["Buffer", "concat", "() => undefined"],
  ["Buffer.prototype", "writeUInt32LE", "() => 0"],
  ["globalThis", "Promise", "class { then() {} static resolve() { return new this() } }"],
  ["globalThis", "Promise", "undefined"],
  ["Promise.prototype", "then", "() => { throw new Error('replaced') }"],
  ["Promise.prototype", "then", "() => new Promise(() => {})"],
  ["Promise", "resolve", "() => new Promise(() => {})"],
  ["Reflect", "apply", "() => undefined"],
  ["Reflect", "apply", "() => { throw new Error('replaced') }"],
  ["Map.prototype", "get", "() => undefined"],
  ["Map.prototype", "set", "function () { return this }"],
  ["Set.prototype", "add", "function () { return this }"],
  ["Map", "prototype.has", "() => true"],
  ["globalThis", "Map", "class {}"],
  ["globalThis", "setTimeout", "() => { throw new Error('replaced') }"],
  ["globalThis", "setTimeout", "() => ({ unref() {} })"],
  ["globalThis", "clearTimeout", "() => { throw new Error('replaced') }"],
  ["globalThis", "setImmediate", "() => undefined"],
  ["globalThis", "queueMicrotask", "() => undefined"],
  ["process", "nextTick", "() => undefined"],
  ["Array.prototype", "push", "() => 1"],
  [
    "Array.prototype",
    "push",
    "function (...items) { for (const item of items) this[this.length] = item; return this.length }",
  ],
  ["Array.prototype", "shift", "() => undefined"],
  ["Array.prototype", "Symbol.iterator", "function* () {}"],
  ["JSON", "stringify", "() => '{}'"],
  ["JSON", "parse", "() => ({})"],
  ["Object", "keys", "() => []"],
  ["Object", "defineProperty", "(object) => object"],
  ["Function.prototype", "call", "() => undefined"],
  ["String.prototype", "charCodeAt", "() => 65"],
  ["performance", "now", "() => 0"],
  ["Date", "now", "() => NaN"],
  ["Math", "max", "() => NaN"],
  ["AbortController.prototype", "abort", "() => { throw new Error('replaced') }"],
  ["process.getBuiltinModule('node:net').Socket.prototype", "write", "() => true"],
  ["process.getBuiltinModule('node:net').Socket.prototype", "pause", "() => undefined"],
  ["process.getBuiltinModule('node:events').prototype", "emit", "() => true"],
];

const replace = routine((holder: string, key: string, replacement: string) => {
  const evaluate = (text: string): unknown => runInThisContext(`(${text})`);
  const [target, name] = key.startsWith("prototype.") ? [`${holder}.prototype`, key.slice(10)] : [holder, key];
  const property = name === "Symbol.iterator" ? Symbol.iterator : name;
  const value = evaluate(replacement);
  Object.defineProperty(evaluate(target) as object, property, { value, configurable: true, writable: true });
  return "replaced";
});
/** The same after it has waited, and it never ends. */
const replaceLater = routine(async (holder: string, key: string, replacement: string) => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  void replace.local(holder, key, replacement);
  await new Promise<never>(() => undefined);
});
const sample = {
  list: [1, "two", { three: 3n }],
  map: new Map([["a", new Set([1, 2])]]),
  at: new Date(5),
  bytes: Uint8Array.of(1, 2),
};
const echo = routine(async (value: typeof sample) => {
  await new Promise((resolve) => setImmediate(resolve));
  return value;
});
const count = routine(async function* (limit: number) {
  for (let i = 0; i < limit; i++) yield { i };
});

/** Each replaces threads, with pauses in between, so there are several of them. */
const pools: WorkerPool[] = [];
const free: WorkerPool[] = [];
/** Tests that wait for a pool, the first to come first. */
const waiting: ((pool: WorkerPool) => void)[] = [];
beforeAll(async () => {
  pools.push(...(await Promise.all(Array.from({ length: 4 }, () => WorkerPool.start({ size: 1 })))));
  free.push(...pools);
});
async function takeFree(): Promise<WorkerPool> {
  return free.pop() ?? (await new Promise<WorkerPool>((resolve) => waiting.push(resolve)));
}
function giveBack(pool: WorkerPool): void {
  const next = waiting.shift();
  if (next === undefined) free.push(pool);
  else next(pool);
}
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.stop()));
});

/** The call has the right answer, or its caller is told that the thread was lost. Returns whether it was lost. */
async function rightOrTold(call: Promise<unknown>, answer: unknown): Promise<boolean> {
  const outcome = await reasonOf(call);
  if (Array.isArray(outcome)) {
    expect(outcome[1]).toEqual(answer);
    return false;
  }
  expect(outcome).toBeInstanceOf(WorkerLost);
  expect((outcome as Error).message).toMatch(/a task replaced .*, which the runtime relies on/);
  return true;
}

async function listOf(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of stream) values.push(value);
  return values;
}

async function expectRightAfter(pool: WorkerPool, replacement: readonly [string, string, string]): Promise<void> {
  const other = rightOrTold(pool.dispatch(echo, sample), sample);
  await rightOrTold(pool.dispatch(replace, ...replacement), "replaced");
  await other;
  for (let i = 0; i < 3; i++) {
    await rightOrTold(pool.dispatch(echo, sample), sample);
    await rightOrTold(listOf(pool.dispatch(count, 3)), [{ i: 0 }, { i: 1 }, { i: 2 }]);
  }
  // Time limits hold, too.
  const endless = routine(async () => await new Promise<never>(() => undefined), { timeout: 20 });
  const outcome = await reasonOf(pool.dispatch(endless));
  if (!(outcome instanceof WorkerLost)) expect(outcome).toBeInstanceOf(TaskTimeout);
}

async function expectRightBeside(pool: WorkerPool, replacement: readonly [string, string, string]): Promise<void> {
  const abort = new AbortController();
  const replacing = reasonOf(pool.dispatch(replaceLater.with({ signal: abort.signal }), ...replacement));
  for (let i = 0; i < 6; i++) await rightOrTold(pool.dispatch(echo, sample), sample);
  abort.abort();
  await replacing;
  await rightOrTold(pool.dispatch(echo, sample), sample);
}

describe.concurrent("a task that replaces a part of the language", () => {
  test.for(REPLACEMENTS)(
    "%s.%s by %s leaves right answers to the tasks after it and beside it, or their callers are told",
    async (replacement) => {
      const pool = await takeFree();
      try {
        await expectRightAfter(pool, replacement);
        await expectRightBeside(pool, replacement);
      } finally {
        giveBack(pool);
      }
    },
  );
});

test("what setup replaces is taken for right", async () => {
  const setup = (): void => {
    const original = Reflect.get(Map.prototype, "get") as (key: unknown) => unknown;
    Map.prototype.get = function (key: unknown) {
      return original.call(this, key);
    };
  };
  await using own = await WorkerPool.start({ size: 1, workerOptions: { setup } });
  for (let i = 0; i < 3; i++) expect(await own.dispatch(echo, sample)).toEqual(sample);
});
