import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { isMainThread, Worker } from "node:worker_threads";
import { add, Money, NotMoney } from "money-kit";
import { InvalidArgument, routine, SerializationError, TaskTimeout, WoolError, WorkerPool } from "wool-ts";
import { currentTill, OutOfStock, priceOf, prices, Till } from "./shop.js";

let pool;
beforeAll(async () => {
  pool = await WorkerPool.start({ size: 1 });
});
afterAll(() => pool.stop());

test("a call runs in another process", async () => {
  const add = routine(async (x, y) => [x + y, process.pid]);
  const [sum, pid] = await add(1, 2);
  expect(sum).toBe(3);
  expect(pid).not.toBe(process.pid);
});

test("a function of another module travels", async () => {
  expect(await routine(async () => priceOf("tea"))()).toBe(3);
  expect(await routine(priceOf)("tea")).toBe(3);
});

test("a variable that functions and a class share stays one", async () => {
  const sell = routine(async (item) => [Till.get().sell(item), Till.get().sell(item), currentTill() === Till.get()]);
  // The way to read a variable changes after fifty calls.
  for (let call = 0; call < 60; call++) expect(await sell("tea")).toEqual([1, 2, true]);
});

test("a routine that a task has made can be called", async () => {
  const times = await routine(async (factor) => routine(async (n) => n * factor))(3);
  expect(await times(4)).toBe(12);
});

test("a module of Node.js is the worker's own", async () => {
  expect(await routine(async () => [isMainThread, typeof Worker])()).toEqual([false, "function"]);
});

test("a stream can be left early", async () => {
  const count = routine(async function* () {
    for (let n = 0; ; n++) yield n;
  });
  const seen = [];
  for await (const n of count.with({ prefetch: 4 })()) {
    if (n === 3) break;
    seen.push(n);
  }
  expect(seen).toEqual([0, 1, 2]);
  const mapped = [];
  for await (const n of pool.map(
    routine(async (n) => n * n),
    [1, 2, 3],
  ))
    mapped.push(n);
  expect(mapped).toEqual([1, 4, 9]);
});

test("an error keeps its class, its fields and its cause", async () => {
  const error = await routine(async () => priceOf("salt"))().catch((reason) => reason);
  expect(error).toBeInstanceOf(OutOfStock);
  expect(error).toBeInstanceOf(Error);
  expect(error.item).toBe("salt");
  expect(error.cause).toBeInstanceOf(RangeError);
  expect(error.stack).toContain("calls.test.js");
  await expect(routine(async () => JSON.parse("{"))()).rejects.toBeInstanceOf(SyntaxError);
});

test("a package travels, and so do instances of its classes", async () => {
  const doubled = await routine(async (money) => add(money, money))(new Money(2));
  expect(doubled).toBeInstanceOf(Money);
  expect(doubled.amount).toBe(4);
  const made = await routine(async () => add(new Money(1), new Money(2)))();
  expect(made).toBeInstanceOf(Money);
  const error = await routine(async () => add(new Money(1), 2))().catch((reason) => reason);
  expect(error).toBeInstanceOf(NotMoney);
});

test("errors of the runtime have their classes", async () => {
  const wait = routine(() => new Promise(() => undefined)).with({ timeout: 50 });
  const late = await wait().catch((reason) => reason);
  expect(late).toBeInstanceOf(TaskTimeout);
  expect(late).toBeInstanceOf(WoolError);
  expect(late).toBeInstanceOf(Error);
  await expect(WorkerPool.start({ size: -1 })).rejects.toBeInstanceOf(InvalidArgument);
  const refused = await routine(async (ref) => ref)(new WeakRef(prices)).catch((reason) => reason);
  expect(refused).toBeInstanceOf(SerializationError);
});

test("values arrive as what they are", async () => {
  const values = {
    date: new Date(0),
    map: new Map([[1, new Set([2])]]),
    bytes: new Uint8Array([1, 2, 3]),
    buffer: Buffer.from("text"),
    numbers: new Float64Array([0.5]),
    memory: new ArrayBuffer(2),
    pattern: /a+/gi,
    error: new TypeError("wrong", { cause: new Error("deeper") }),
    url: new URL("http://localhost/a?b=c"),
    big: 10n,
    list: [1, , 3],
    nothing: undefined,
    bare: Object.assign(Object.create(null), { a: 1 }),
  };
  const kinds = routine(async (given) =>
    Object.entries(given).map(([name, value]) => [name, Object.prototype.toString.call(value)]),
  );
  expect(await kinds(values)).toEqual(
    Object.entries(values).map(([name, value]) => [name, Object.prototype.toString.call(value)]),
  );
  const back = await routine(async (given) => given)(values);
  expect(back).toEqual(values);
  for (const name of ["date", "map", "bytes", "buffer", "numbers", "memory", "pattern", "error", "url", "list"]) {
    expect([name, back[name] instanceof values[name].constructor]).toEqual([name, true]);
  }
  const made = await routine(async () => [new Map(), new Uint8Array(1), new Error("made"), [], {}, Promise])();
  for (const [at, type] of [Map, Uint8Array, Error, Array, Object, Function].entries()) {
    expect([type.name, made[at] instanceof type]).toEqual([type.name, true]);
  }
});

test("values that Node.js itself makes travel", async () => {
  const same = routine(async (given) => given);
  const values = { stats: os.cpus(), versions: { ...process.versions }, path: path.parse("/a/b.c") };
  expect(await same(values)).toEqual(values);
  const missing = await fs.promises.readFile("/nowhere").catch((error) => error);
  const back = await same(missing);
  expect([back.code, back.message]).toEqual([missing.code, missing.message]);
  const bytes = await fs.promises.readFile("package.json");
  expect((await same(bytes)).equals(bytes)).toBe(true);
  const thrown = await routine(async () => fs.readFileSync("/nowhere"))().catch((error) => error);
  expect(thrown).toBeInstanceOf(Error);
  expect(thrown.code).toBe("ENOENT");
});

test("a signal cancels a call", async () => {
  const controller = new AbortController();
  const wait = routine(
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  const call = wait.with({ signal: controller.signal })(controller.signal);
  const reason = new RangeError("enough");
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
});
