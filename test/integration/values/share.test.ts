import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ContextVar, LocalWorker, routine, type Shared, share, shipping, WorkerConnection, WorkerPool } from "wool-ts";
import { until } from "../../support/until.ts";

interface Table {
  readonly numbers: Float64Array;
  readonly rows: Map<string, { readonly id: number }>;
  readonly at: Date;
}

function makeTable(seed: number, count = 50_000): Table {
  return {
    numbers: new Float64Array(count).fill(seed),
    rows: new Map([["first", { id: seed }]]),
    at: new Date(seed),
  };
}

/** What a task sees of a table. */
function look(table: Shared<Table>): { first: number | undefined; count: number; id: number | undefined; pid: number } {
  const { numbers, rows } = table.value;
  return { first: numbers[0], count: numbers.length, id: rows.get("first")?.id, pid: process.pid };
}

const read = routine(async (table: Shared<Table>) => look(table));
const readDeep = routine(async (bag: { list: readonly Shared<Table>[] }) => bag.list.map(look));
const isSame = routine(async (table: Shared<Table>) => {
  const seen = globalThis as { table?: unknown };
  seen.table ??= table.value;
  return seen.table === table.value;
});
/** Which ways to change a value there are, and what comes of them. */
const change = routine(async (table: Shared<Table>) => {
  const { rows, at } = table.value;
  const attempts: (() => unknown)[] = [
    () => Object.assign(table.value, { more: 1 }),
    () => Object.assign(rows.get("first") ?? {}, { id: 7 }),
    () => rows.set("second", { id: 2 }),
    () => rows.delete("first"),
    () => rows.clear(),
    () => at.setFullYear(1970),
  ];
  return attempts.map((attempt) => {
    try {
      attempt();
      return "changed";
    } catch (error) {
      return (error as Error).message;
    }
  });
});
const ignore = routine(async (...args: unknown[]) => args.length);
const valueOf = routine(async (table: Shared<Table>) => table.value);

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );
}

describe.each([
  ["a unix socket", {}],
  ["TCP", { host: "127.0.0.1" }],
])("a shared value over %s", (_name, place) => {
  let pool: WorkerPool;

  beforeAll(async () => {
    pool = await WorkerPool.start({ size: 2, workerOptions: { ...place, threads: 2 } });
    // Both are connected to: one alone could be quick enough to serve all calls.
    await Promise.all(
      [...pool.workers.values()].map(async (worker) => {
        await using connection = new WorkerConnection(worker);
        await connection.dispatch(routine(async () => 1));
      }),
    );
  });
  afterAll(async () => {
    await pool.stop();
  });

  test("is sent once to each worker process, whatever number of calls and threads use it", async () => {
    const before = pool.stats();
    const table = share(makeTable(1));
    const seen = await Promise.all(Array.from({ length: 40 }, () => read(table)));
    expect(new Set(seen.map(({ first, count, id }) => `${first} ${count} ${id}`))).toEqual(new Set(["1 50000 1"]));
    const pids = new Set(seen.map(({ pid }) => pid));
    const { shared, workers } = pool.stats();
    expect(pids.size).toBe(2);
    expect(shared.values - before.shared.values).toBe(2);
    expect(shared.bytes - before.shared.bytes).toBeGreaterThan(2 * 400_000);
    expect(shared.bytes - before.shared.bytes).toBeLessThan(2 * 401_000);
    for (const [uid, own] of Object.entries(workers)) {
      expect(own.shared.values - (before.workers[uid]?.shared.values ?? 0)).toBe(1);
    }
  });

  test("is found anywhere in arguments, in what a routine captured, in context variables and in map", async () => {
    const table = share(makeTable(2));
    const other = share(makeTable(3));
    const captured = routine(async (i: number) => (table.value.numbers[0] ?? 0) + i);
    const variable = new ContextVar<Shared<Table> | undefined>("share-in-context", { default: undefined });
    const fromContext = routine(async () => variable.get()?.value.numbers[0]);
    expect((await readDeep({ list: [table, other, table] })).map(({ first }) => first)).toEqual([2, 3, 2]);
    expect(await Promise.all([captured(1), captured(2)])).toEqual([3, 4]);
    expect(await variable.run(other, () => fromContext())).toBe(3);
    const mapped: unknown[] = [];
    for await (const { first } of pool.map(read, [table, other, table], { ordered: true })) mapped.push(first);
    expect(mapped).toEqual([2, 3, 2]);
  });

  test("goes into streams and comes back out of them", async () => {
    const table = share(makeTable(4));
    const relay = routine(async function* (first: Shared<Table>): AsyncGenerator<unknown, string, Shared<Table>> {
      let next = first;
      for (let i = 0; i < 3; i++) next = yield [next, next.value.numbers[0]];
      return "done";
    });
    const stream = relay(table);
    const other = share(makeTable(5));
    expect(await stream.next(table)).toEqual({ done: false, value: [expect.anything(), 4] });
    const { value } = await stream.next(other);
    const [handle, first] = value as [Shared<Table>, number];
    expect(first).toBe(5);
    expect(handle.value).toBe(other.value);
    await stream.return("");
  });

  test("is the same object for every task of a thread, and nothing but binary data can be changed", async () => {
    const table = share(makeTable(6));
    expect(await Promise.all(Array.from({ length: 12 }, () => isSame(table)))).toEqual(Array(12).fill(true));
    const outcomes = await change(table);
    expect(outcomes).not.toContain("changed");
    expect(outcomes[2]).toBe(
      "set() would change a shared value, which every task sees: change a copy, such as new Map(map)",
    );
    // Where it was shared it is what it was, and nothing was done to it.
    expect(Object.isFrozen(table.value)).toBe(false);
    table.value.rows.set("second", { id: 2 });
  });

  test("comes back as the handle it is, and what it holds as an ordinary copy", async () => {
    const table = share(makeTable(7));
    const echo = routine(async (handle: Shared<Table>) => ({ handle }));
    const { handle } = await echo(table);
    expect(handle.value).toBe(table.value);
    const copy = await valueOf(table);
    expect(copy).toEqual(table.value);
    expect(copy.numbers.buffer).toBeInstanceOf(ArrayBuffer);
    expect(Object.getOwnPropertyNames(copy.rows)).toEqual([]);
    const failing = routine(async (inner: Shared<Table>) => {
      throw Object.assign(new Error("with a handle"), { inner });
    });
    const error = (await errorOf(failing(table))) as { inner: Shared<Table> };
    expect(error.inner.value).toBe(table.value);
  });

  test("that was changed after its first use is either what it was then, or refused", async () => {
    const table = share(makeTable(9, 100_000));
    await read(table);
    table.value.numbers[0] = 1;
    const results = await pool.broadcast(read, table);
    for (const result of results) {
      if (result.status === "fulfilled") expect(result.value.first).toBe(9);
      else {
        expect(result.reason).toMatchObject({
          name: "SerializationError",
          message:
            "the value of share() cannot be used: its content does not match its hash: it was changed after its " +
            "first use. Change a copy, and share that",
        });
      }
    }
    // Files are written at the first use, for all workers.
    expect(results.map(({ status }) => status).toSorted()).toEqual(
      "host" in place ? ["fulfilled", "rejected"] : ["fulfilled", "fulfilled"],
    );
    const again = share(makeTable(9, 100_000));
    expect((await pool.broadcast(read, again)).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  });
});

/** Has the garbage of the worker collected. What was dropped there and not collected yet would be used again. */
const collectThere = routine(async () => {
  // Something may still refer to it in the turn in which it was used last, and in the one after that.
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    (globalThis as { gc?: () => void }).gc?.();
  }
});

/** The same here. */
function collectHere(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** Files in memory of that size, of whichever process. */
function filesOf(bytes: number): number {
  const files = readdirSync("/dev/shm", { recursive: true, encoding: "utf8" });
  return files.filter((file) => statSync(join("/dev/shm", file), { throwIfNoEntry: false })?.size === bytes).length;
}

describe.each([
  ["a unix socket", {}],
  ["TCP", { host: "127.0.0.1" }],
])("a value that is no longer needed, over %s", (_name, place) => {
  let pool: WorkerPool;
  const values = (): number => pool.stats().shared.values;

  beforeAll(async () => {
    pool = await WorkerPool.start({ size: 1, workerOptions: { ...place, execArgv: ["--expose-gc"] } });
  });
  afterAll(async () => {
    await pool.stop();
  });

  /** Whether the worker has to be sent the same content again. */
  async function isDropped(content: Table): Promise<boolean> {
    await collectThere();
    const before = values();
    const again = share(content);
    await read(again);
    again[Symbol.dispose]();
    return values() > before;
  }

  test("is dropped by workers once its handle is disposed of, and calls under way are not disturbed", async () => {
    const gate = new AbortController();
    const content = makeTable(8, 61_231);
    const table = share(content);
    const slow = routine(async (handle: Shared<Table>, signal: AbortSignal) => {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return handle.value.numbers[0];
    });
    const running = slow(table, gate.signal);
    await until(() => values() === 1, "the worker has the value");
    const { bytes } = pool.stats().shared;
    expect(filesOf(bytes)).toBe("host" in place ? 0 : 1);
    table[Symbol.dispose]();
    expect(() => table.value).toThrow("the value of this handle was disposed of");
    expect(await errorOf(read(table))).toMatchObject({
      name: "SerializationError",
      path: "args[0]",
      message: "args[0]: this shared value was disposed of. Dispose of it after the last call that uses it.",
    });
    gate.abort();
    expect(await running).toBe(8);
    expect(filesOf(bytes)).toBe(0);
    expect(await isDropped(content)).toBe(true);
  });

  test("is dropped once its handle is collected", async () => {
    const content = makeTable(10, 61_232);
    const bytes = await (async () => {
      const before = pool.stats().shared.bytes;
      await read(share(content));
      return pool.stats().shared.bytes - before;
    })();
    await until(async () => {
      collectHere();
      await new Promise((resolve) => setImmediate(resolve));
      return filesOf(bytes) === 0 && (await isDropped(content));
    }, "the worker has dropped the value");
  });

  test("stays while another handle of the same content is there", async () => {
    const content = makeTable(11);
    const [one, other] = [share(content), share(makeTable(11))];
    await read(one);
    await read(other);
    one[Symbol.dispose]();
    await collectThere();
    const before = values();
    expect((await read(other)).first).toBe(11);
    expect(values()).toBe(before);
  });
});

test("a value that cannot travel is refused at its first use, with the way to it", async () => {
  const pool = await WorkerPool.start({ size: 1 });
  try {
    const broken = share({ rows: [{ ok: 1, ref: new WeakRef({}) }] });
    const captured = routine(async () => broken.value);
    expect(await errorOf(pool.dispatch(ignore, { deep: broken }))).toMatchObject({
      name: "SerializationError",
      path: "args[0].deep -> value.rows[0].ref",
      message: expect.stringContaining("a WeakRef points into the memory of this process. Pass what deref() returns."),
    });
    expect(await errorOf(captured())).toMatchObject({ path: "captured -> broken -> value.rows[0].ref" });
    const signal = share({ signal: new AbortController().signal });
    expect(await errorOf(pool.dispatch(ignore, signal))).toMatchObject({
      path: "args[0] -> value.signal",
      message: expect.stringContaining("an AbortSignal stays live only among the arguments of a call"),
    });
  } finally {
    await pool.stop();
  }
});

test("without a pool, and with local(), the handle is what it is", async () => {
  const table = share(makeTable(1));
  const same = routine(async (handle: Shared<Table>) => handle.value === table.value);
  expect(await same.local(table)).toBe(true);
});

test("an explanation says how it travels", () => {
  const table = share({ bytes: new Uint8Array(100_000) });
  const use = routine(async () => table.value.bytes.length);
  const { parts, bytes } = shipping.explain(use);
  expect(bytes).toBeLessThan(1000);
  expect(parts).toMatchObject([
    {
      name: "table",
      by: "value",
      reason: expect.stringMatching(
        /^a shared value: calls send its hash, and each worker gets its 100\d\d\d bytes once$/,
      ),
    },
  ]);
});

test("holds other shared values, functions and instances of classes", async () => {
  class Point {
    readonly x: number;
    constructor(x: number) {
      this.x = x;
    }
    double(): number {
      return 2 * this.x;
    }
  }
  const inner = share({ bytes: new Uint8Array(200_000).fill(3) });
  const outer = share({ inner, point: new Point(4), plus: (n: number) => n + 1 });
  const use = routine(async (handle: typeof outer) => {
    const { inner: held, point, plus } = handle.value;
    return [held.value.bytes[7], point.double(), plus(1), point instanceof Point];
  });
  const pool = await WorkerPool.start({ size: 1 });
  try {
    expect(await use(outer)).toEqual([3, 8, 2, true]);
    expect(pool.stats().shared.values).toBe(2);
  } finally {
    await pool.stop();
  }
});

test("is passed on from worker to worker, without the first caller", async () => {
  let started = 0;
  const pool = await WorkerPool.start({
    size: 2,
    worker: (options) => new LocalWorker({ ...options, tags: [`w${started++}`] }),
  });
  try {
    class Row {
      readonly n = 5;
    }
    const table = share({ ...makeTable(1), row: new Row() });
    const atSecond = routine(async (handle: typeof table) => [look(handle), handle.value.row.n] as const, {
      needs: ["w1"],
    });
    const atFirst = routine(async (handle: typeof table) => [look(handle).pid, await atSecond(handle)] as const, {
      needs: ["w0"],
    });
    const [pid, [seen, n]] = await atFirst(table);
    expect(seen).toMatchObject({ first: 1, count: 50_000, id: 1 });
    expect(n).toBe(5);
    expect(seen.pid).not.toBe(pid);
    expect(pool.stats().shared.values).toBe(1);
    // What the second worker got from the first it has for the first caller, too.
    await atSecond(table);
    expect(pool.stats().shared.values).toBe(1);
  } finally {
    await pool.stop();
  }
});

test("one that a task shares comes back with its value", async () => {
  const pool = await WorkerPool.start({ size: 1, workerOptions: { threads: 2 } });
  try {
    const make = routine(async (n: number) => share({ bytes: new Uint8Array(100_000).fill(n) }));
    const use = routine(async (handle: Shared<{ bytes: Uint8Array }>) => handle.value.bytes[9]);
    const made = await make(6);
    expect(made.value.bytes[5]).toBe(6);
    expect(await use(made)).toBe(6);
    const nested = routine(async () => {
      const mine = share({ bytes: new Uint8Array(100_000).fill(7) });
      return [await use(mine), Object.isFrozen(mine.value)];
    });
    expect(await nested()).toEqual([7, false]);
    const data = make.with({ results: "data" });
    expect((await data(8)).value.bytes[0]).toBe(8);
  } finally {
    await pool.stop();
  }
});

test("binary data is in memory that the threads of a process share", async () => {
  const pool = await WorkerPool.start({ size: 1, workerOptions: { threads: 2 } });
  try {
    const flags = share({ bytes: new Uint8Array(64 * 1024), small: new Uint16Array([1, 2, 3]) });
    const threadOf = routine(async (handle: typeof flags, key: string) => {
      const { threadId } = await import("node:worker_threads");
      const { bytes, small } = handle.value;
      // Nobody should do this; it shows that the memory is one.
      bytes[threadId] = 1;
      while (bytes.reduce((sum, byte) => sum + byte, 0) < 2) await new Promise((resolve) => setTimeout(resolve, 5));
      return [key, bytes.buffer.constructor.name, small.buffer.constructor.name, [...small], bytes.byteOffset];
    });
    expect(await Promise.all([threadOf(flags, "a"), threadOf(flags, "b")])).toEqual([
      ["a", "SharedArrayBuffer", "SharedArrayBuffer", [1, 2, 3], 0],
      ["b", "SharedArrayBuffer", "SharedArrayBuffer", [1, 2, 3], 0],
    ]);
    expect(flags.value.bytes.every((byte) => byte === 0)).toBe(true);
  } finally {
    await pool.stop();
  }
});

describe("the budget of a worker", () => {
  test("bounds what is kept: the least recently used is dropped, and asked for again when it is needed", async () => {
    const pool = await WorkerPool.start({
      size: 1,
      workerOptions: { shareBudget: 1_000_000, execArgv: ["--expose-gc"] },
    });
    try {
      const [a, b, c] = [share(makeTable(1)), share(makeTable(2)), share(makeTable(3))];
      const values = (): number => pool.stats().shared.values;
      expect([(await read(a)).first, (await read(b)).first, values()]).toEqual([1, 2, 2]);
      await read(a);
      expect([(await read(c)).first, values()]).toEqual([3, 3]);
      await collectThere();
      expect([(await read(a)).first, values()]).toEqual([1, 3]);
      expect([(await read(b)).first, values()]).toEqual([2, 4]);
      await collectThere();
      // A routine that captured a value does not keep it from being dropped.
      const captured = routine(async () => look(c).first);
      expect([await captured(), await captured(), values()]).toEqual([3, 3, 5]);
      // The engine may take its time to collect what was dropped, which is found again until then.
      await until(async () => {
        await read(b);
        await read(a);
        await collectThere();
        const before = values();
        expect(await captured()).toBe(3);
        return values() === before + 1;
      }, "it is asked for again");
    } finally {
      await pool.stop();
    }
  });

  test("refuses a value that is larger", async () => {
    const pool = await WorkerPool.start({ size: 1, workerOptions: { shareBudget: 300_000 } });
    try {
      expect(await errorOf(read(share(makeTable(1))))).toMatchObject({
        name: "SerializationError",
        message: expect.stringMatching(
          /^the value of share\(\) cannot be used: it takes 400\d\d\d bytes, and its worker keeps at most 300000 of such values\. Raise the worker's option "shareBudget", or share less$/,
        ),
      });
      expect((await read(share(makeTable(2, 1000)))).count).toBe(1000);
    } finally {
      await pool.stop();
    }
  });

  test("never takes from a task what it uses", async () => {
    const pool = await WorkerPool.start({ size: 1, workerOptions: { shareBudget: 500_000 } });
    try {
      const [a, b] = [share(makeTable(1)), share(makeTable(2))];
      const both = routine(async (handle: Shared<Table>, other: Shared<Table>) => {
        const { first } = look(handle);
        const nested = await read(other);
        return [first, nested.first, look(handle).first, look(other).first];
      });
      expect(await both(a, b)).toEqual([1, 2, 1, 2]);
      expect(await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? both(a, b) : both(b, a))))).toEqual(
        Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? [1, 2, 1, 2] : [2, 1, 2, 1])),
      );
    } finally {
      await pool.stop();
    }
  });
});

test("a worker that takes the place of another asks again", async () => {
  const pool = await WorkerPool.start({ size: 1 });
  try {
    const table = share(makeTable(1));
    const { pid } = await read(table);
    await errorOf(pool.dispatch(routine(async () => process.kill(process.pid, "SIGKILL"))));
    const after = await read.with({ idempotent: true })(table);
    expect(after).toMatchObject({ first: 1, count: 50_000 });
    expect(after.pid).not.toBe(pid);
  } finally {
    await pool.stop();
  }
});

test("setup may have captured one", async () => {
  const table = share(makeTable(3));
  const pool = await WorkerPool.start({
    size: 1,
    workerOptions: { setup: () => void Object.assign(globalThis, { fromSetup: table.value.numbers[4] }) },
  });
  try {
    const get = routine(async () => (globalThis as { fromSetup?: number }).fromSetup);
    expect(await get()).toBe(3);
  } finally {
    await pool.stop();
  }
});
