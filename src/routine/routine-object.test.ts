import { describe, expect, it } from "vitest";
import { runLocally, runStreamLocally } from "./routine-object.ts";

describe("runLocally", () => {
  it("gives a promise of what a function of either kind returns", async () => {
    expect(await runLocally((a: number, b: number) => a + b, undefined, [1, 2])).toBe(3);
    expect(await runLocally(async (a: number) => a * 2, undefined, [4])).toBe(8);
  });

  it("keeps this", async () => {
    const self = { factor: 3 };
    const fn = function (this: typeof self, x: number) {
      return x * this.factor;
    };
    expect(await runLocally(fn, self, [5])).toBe(15);
  });

  it("rejects with what is thrown, and does not throw itself", async () => {
    const error = new RangeError("x");
    const failed = runLocally(
      () => {
        throw error;
      },
      undefined,
      [],
    );
    await expect(failed).rejects.toBe(error);
  });
});

describe("runStreamLocally", () => {
  it("hands an asynchronous generator on as it is", async () => {
    async function* count(to: number) {
      for (let i = 0; i < to; i++) yield i;
      return "end";
    }
    const stream = runStreamLocally(count, undefined, [1]);
    expect(await stream.next()).toEqual({ done: false, value: 0 });
    expect(await stream.next()).toEqual({ done: true, value: "end" });
  });

  it("makes a synchronous generator asynchronous: what is sent, thrown and returned reaches it", async () => {
    const trace: unknown[] = [];
    function* echo(this: { name: string }, first: unknown): Generator<unknown, unknown, unknown> {
      let value = first;
      try {
        for (;;) {
          try {
            value = yield [this.name, value];
          } catch (error) {
            value = error;
          }
        }
      } finally {
        trace.push("finally");
      }
    }
    const stream = runStreamLocally(echo, { name: "n" }, ["a"]);
    expect(await stream.next()).toEqual({ done: false, value: ["n", "a"] });
    expect(await stream.next("b")).toEqual({ done: false, value: ["n", "b"] });
    expect(await stream.throw("c")).toEqual({ done: false, value: ["n", "c"] });
    expect(await stream.return("d")).toEqual({ done: true, value: "d" });
    expect(trace).toEqual(["finally"]);
  });

  it("runs nothing before the first step", async () => {
    let started = false;
    function* late() {
      started = true;
      yield 1;
    }
    const stream = runStreamLocally(late, undefined, []);
    expect(started).toBe(false);
    await stream.next();
    expect(started).toBe(true);
    await stream.return(undefined);
  });
});
