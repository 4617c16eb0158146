import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  LocalWorker,
  NoWorkersAvailable,
  RpcError,
  routine,
  SerializationError,
  StaticDiscovery,
  WorkerConnection,
  WorkerPool,
} from "wool-ts";
import { expectNothingLeft } from "../support/nothing-left.ts";
import { PythonCode, type PythonWorker } from "../support/python.ts";
import { reasonOf } from "../support/reason-of.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("python");
const add = routine.at<(x: number, y: number) => number>("py:shop:add");
const echo = routine.at<(value?: unknown) => unknown>("py:shop:echo");
const order = routine.at<(item: string) => never>("py:shop:order");
const nap = routine.at<(seconds: number) => string>("py:shop:nap");
const count = routine.at<(limit: number) => AsyncGenerator<number, string, void>>("py:shop:count", { streams: true });
const conversation = routine.at<(name: string) => AsyncGenerator<string, void, string>>("py:shop:conversation", {
  streams: true,
});
const ticks = routine.at<(path: string) => AsyncGenerator<number>>("py:shop:ticks", { streams: true });
const usual = routine(async (x: number) => x);
const nested = routine(async (x: number) => await add(x, 1));

describe.skipIf(missing !== undefined)("a worker in Python", () => {
  let code: PythonCode;
  let worker: PythonWorker;
  let folder: string;
  beforeAll(() => {
    code = new PythonCode();
  });
  afterAll(() => code[Symbol.dispose]());
  expectNothingLeft();
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "wool-interop-"));
    worker = await code.startWorker();
  });
  afterEach(async () => {
    await worker[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  /** A pool of that worker, and of `size` others. */
  async function poolOf(size?: number): Promise<WorkerPool> {
    const discovery = new StaticDiscovery([worker.address]);
    return await WorkerPool.start({ discovery, quorum: (size ?? 0) + 1, ...(size === undefined ? {} : { size }) });
  }

  test("serves functions, many at once", async () => {
    await using pool = await poolOf();
    expect(await add(20, 22)).toBe(42);
    const sums = await Promise.all(Array.from({ length: 200 }, (_, i) => add(i, 1)));
    expect(sums).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    expect([...pool.workers.values()][0]?.languages).toEqual(["py"]);
  });

  test("gets and gives plain data of any size", async () => {
    await using _pool = await poolOf();
    const value = { text: "häß ☃ \ud83d\ude00", list: [1, -2.5, null, true, { deep: [] }], __proto_: 1 };
    expect(await echo(value)).toEqual(value);
    expect(await echo()).toBe(null);
    const large = Array.from({ length: 300_000 }, (_, i) => i);
    expect(await echo(large)).toEqual(large);
  });

  test("is not sent what JSON cannot carry, and cannot send back what would be changed", async () => {
    await using _pool = await poolOf();
    const refused = await reasonOf(echo({ when: new Date(0) }));
    expect(refused).toBeInstanceOf(SerializationError);
    expect(refused).toMatchObject({ path: "args[0].when" });
    expect(await reasonOf(add(2 ** 53, 3))).toMatchObject({ name: "UnexpectedResponse" });
    expect(await add(1, 1)).toBe(2);
  });

  test("throws errors with their name, message and fields", async () => {
    await using _pool = await poolOf();
    const error = await reasonOf(order("tea"));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "OutOfStock", message: "no tea left", item: "tea" });
    expect((error as Error).stack).toMatch(/OutOfStock: no tea left\n[\s\S]*shop\.py[\s\S]*python\.test\.ts/);
    expect(await reasonOf(routine.at("py:shop:missing")())).toMatchObject({ name: "AttributeError" });
  });

  test("runs generators step by step: next, send, throw and return", async () => {
    await using _pool = await poolOf();
    const numbers: number[] = [];
    for await (const number of count(3)) numbers.push(number);
    expect(numbers).toEqual([0, 1, 2]);
    const counted = count(1);
    expect(await counted.next()).toEqual({ done: false, value: 0 });
    expect(await counted.next()).toEqual({ done: true, value: "done" });

    const talk = conversation("ada");
    expect(await talk.next()).toEqual({ done: false, value: "hello ada" });
    expect(await talk.next("fine")).toEqual({ done: false, value: "you said fine" });
    expect(await talk.throw(new RangeError("oh no"))).toEqual({ done: false, value: "caught oh no" });
    expect(await talk.return(undefined)).toMatchObject({ done: true });

    const thrown = count(5);
    await thrown.next();
    const error = await reasonOf(thrown.throw(Object.assign(new RangeError("mine"), { field: 7 })));
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toMatchObject({ message: "mine", field: 7 });
    expect(await thrown.next()).toEqual({ done: true, value: undefined });
  });

  test("closes a generator that is left or cancelled, and runs no further than was asked for", async () => {
    await using _pool = await poolOf();
    const left = join(folder, "left");
    for await (const number of ticks(left)) if (number === 4) break;
    await until(() => existsSync(left), "the generator that was left is closed");
    expect(readFileSync(left, "utf8")).toBe("closed after 4");

    const controller = new AbortController();
    const cancelled = join(folder, "cancelled");
    const stream = ticks.with({ signal: controller.signal })(cancelled);
    await stream.next();
    controller.abort(new Error("enough"));
    expect(await reasonOf(stream.next())).toMatchObject({ message: "enough" });
    await until(() => existsSync(cancelled), "the generator that was cancelled is closed");
  });

  test("is told of a function that was cancelled, and its late result goes to nobody", async () => {
    await using _pool = await poolOf();
    const error = await reasonOf(nap.with({ timeout: 50 })(1));
    expect(error).toMatchObject({ name: "TaskTimeout" });
    const sums = Promise.all(Array.from({ length: 20 }, (_, i) => add(i, i)));
    expect(await nap(1.2)).toBe("slept");
    expect(await sums).toEqual(Array.from({ length: 20 }, (_, i) => 2 * i));
  });

  test("is asked whether it lives while a task takes long, and does not mind", async () => {
    await using _pool = await poolOf();
    expect(await nap(3.5)).toBe("slept");
  });

  test("and workers in Node.js in one pool each get what they run, nested calls included", async () => {
    await using pool = await poolOf(1);
    const sums = Promise.all(Array.from({ length: 50 }, (_, i) => add(i, 1)));
    const own = Promise.all(Array.from({ length: 50 }, (_, i) => usual(i)));
    const deep = Promise.all(Array.from({ length: 10 }, (_, i) => nested(i)));
    expect(await sums).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
    expect(await own).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(await deep).toEqual(Array.from({ length: 10 }, (_, i) => i + 1));
    expect(pool.workers.size).toBe(2);
  });

  test("alone runs no routine whose code travels, and the caller is told at once", async () => {
    await using _pool = await poolOf();
    const error = await reasonOf(usual(1));
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect((error as Error).message).toMatch(/usual is a function of node, and the one worker of the pool runs py/);
    expect((await reasonOf(routine.at("go:math:Add")())) as Error).toMatchObject({
      message: expect.stringMatching(/is a function of go/) as unknown,
    });
  });

  test("that is announced as one of Node.js gets no task that it cannot run", async () => {
    const { address } = worker;
    const wrong = {
      uid: "w",
      address,
      pid: 0,
      version: "",
      tags: new Set<string>(),
      extra: {},
      secure: false,
      channel: {},
    };
    await using _pool = await WorkerPool.start({ discovery: new StaticDiscovery([wrong]) });
    const error = await reasonOf(usual(1));
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect((error as NoWorkersAvailable).errors[0]).toBeInstanceOf(RpcError);
    expect((error as Error).message).toMatch(/it runs functions of py with values as json/);
  });

  test("tells its idle time and is stopped like any other", async () => {
    await using connection = new WorkerConnection(worker.address);
    expect(await connection.dispatch(add, 1, 2)).toBe(3);
    expect(await connection.idleTime()).toBeGreaterThanOrEqual(0);
    await connection.stop();
    await worker.ended;
  });
});

describe.skipIf(missing !== undefined)("a program in Python", () => {
  expectNothingLeft();

  test("calls routines of a worker in Node.js: values, errors, generators, cancellation", async () => {
    using code = new PythonCode();
    const worker = new LocalWorker({ host: "127.0.0.1" });
    vi.spyOn(process, "emitWarning").mockReturnValue();
    try {
      await worker.start();
      const shop = fileURLToPath(new URL("node/shop.mjs", import.meta.url));
      const child = code.start("caller.py", worker.address ?? "", shop);
      const lines: unknown[] = [];
      if (child.stdout === null) throw new Error("it has no output");
      for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line));
      expect(lines).toEqual([
        { welcome: ["node"], encodings: ["wool", "json"] },
        { call: "add", kind: "results", value: 42 },
        { call: "echo", kind: "results", size: 400_000, same: true },
        { call: "order", kind: "raised", name: "RangeError", message: "no tea left", item: "tea" },
        { call: "missing", kind: "raised", name: "CodeUnavailable", says: true },
        { call: "foreign", kind: "rejected", status: 12 },
        { call: "count", kind: "yielded", value: 0 },
        { call: "count", kind: "yielded", value: 1 },
        { call: "count", kind: "yielded", value: 2 },
        { call: "count", kind: "results", value: "done" },
        { call: "conversation", value: "hello ada" },
        { call: "conversation", value: "you said fine" },
        { call: "conversation", value: "caught oh no" },
        { call: "conversation", value: "bye" },
        { call: "cancelled stream", first: 0, kind: "raised", name: "TaskCancelled" },
        { call: "cancelled", kind: "raised", name: "TaskCancelled" },
        { kinds: 1 },
      ]);
    } finally {
      vi.restoreAllMocks();
      await worker.stop();
    }
  });
});
