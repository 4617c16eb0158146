import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { CodeUnavailable, routine, WorkerPool } from "wool-ts";
import { expectNothingLeft } from "../support/nothing-left.ts";
import { reasonOf } from "../support/reason-of.ts";

const shop = `node:${fileURLToPath(new URL("node/shop.mjs", import.meta.url))}`;
const echo = routine.at<(value: unknown) => unknown>(`${shop}#echo`);
const order = routine.at<(item: string) => never>(`${shop}#order`);
const count = routine.at<(limit: number) => AsyncGenerator<number, string, void>>(`${shop}#count`, { streams: true });

expectNothingLeft();

describe("a function of Node.js that workers have", () => {
  test("is called by its name, and takes any value that travels", async () => {
    await using _pool = await WorkerPool.start({ size: 1 });
    const value = new Map<unknown, unknown>([
      [1n, new Set([undefined])],
      ["when", new Date(5)],
    ]);
    expect(await echo(value)).toEqual(value);
    expect(await routine.at<(x: number, y: number) => number>(`${shop}#add`)(1, 2)).toBe(3);
    expect(await reasonOf(order("tea"))).toEqual(Object.assign(new RangeError("no tea left"), { item: "tea" }));
    const seen: number[] = [];
    for await (const number of count(3)) seen.push(number);
    expect(seen).toEqual([0, 1, 2]);
  });

  test("has a relative path from the working directory of the worker", async () => {
    await using _pool = await WorkerPool.start({ size: 1 });
    expect(await routine.at<(v: string) => string>("node:./test/interop/node/shop.mjs#echo")("here")).toBe("here");
  });

  test.each([
    [
      `${shop}#nothing`,
      false,
      /exports no function "nothing", it exports add, conversation, count, echo, order, waiting/,
    ],
    [shop, false, /exports no function "default"/],
    ["node:./no/such/file.mjs#f", false, /cannot load node:\.\/no\/such\/file\.mjs#f/],
    ["node:no-such-package#f", false, /the package "no-such-package" is not installed/],
    [`${shop}#count`, false, /is called as a function, but it is a generator/],
    [`${shop}#echo`, true, /is called as a generator, but it is a function/],
  ])("that is not there is named: %s (as a generator: %s)", async (target, streams, message) => {
    await using _pool = await WorkerPool.start({ size: 1 });
    const call = streams
      ? routine.at<() => AsyncGenerator<unknown>>(target, { streams: true })().next()
      : routine.at(target)();
    const error = await reasonOf(call);
    expect(error).toBeInstanceOf(CodeUnavailable);
    expect(String(error)).toMatch(message);
    expect(await echo("goes on")).toBe("goes on");
  });
});
