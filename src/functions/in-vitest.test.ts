import fs, { readFileSync } from "node:fs";
import * as path from "node:path";
import * as acorn from "acorn";
import { parse } from "acorn";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { functionPort } from "../values/function-port.ts";
import * as codec from "../values/index.ts";
import type * as greeterModule from "./fixtures/modules/greeter.mjs";
import * as greeter from "./fixtures/modules/greeter.mjs";
import greet, { Greeting, shout, whereEvaluated } from "./fixtures/modules/greeter.mjs";
import { type Receiver, startReceiver } from "./fixtures/ship.mjs";
import * as functions from "./index.ts";
import { projectRoot } from "./modules/root.ts";

let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver({
    functions,
    values: { ...codec, functionPort },
    library: new URL("../", import.meta.url).href,
    execArgv: ["--import", "tsx"],
    cwd: process.cwd(),
  });
});

afterAll(() => receiver.stop());

const limit: number = 42;
const Level = Object.freeze({ Low: 1, High: 2 });
let counter = 0;
const up = (): number => ++counter;

class Account {
  static opened = 0;
  #balance: number;
  readonly owner: string;
  constructor(owner: string, balance = 0) {
    this.owner = owner;
    this.#balance = balance;
    Account.opened += 1;
  }
  deposit = (amount: number): number => {
    this.#balance += amount;
    return this.#balance;
  };
  get balance(): number {
    return this.#balance;
  }
}

describe("inside of Vitest", () => {
  test("captured variables", async () => {
    expect(await receiver.run(() => [limit, Level.High])).toEqual([42, 2]);
    expect(await receiver.run(() => [up(), up(), counter])).toEqual([1, 2, 2]);
    expect(counter).toBe(0);
  });

  test("variables of the test", async () => {
    const offset = 3;
    let calls = 0;
    const count = (): number => ++calls;
    expect(await receiver.run((x: number) => [x + offset, count(), calls], [1])).toEqual([4, 1, 1]);
  });

  test("imports of Node's modules", async () => {
    const run = () => [path.join("a", "b"), typeof readFileSync, fs.existsSync("/")];
    expect(await receiver.run(run)).toEqual(["a/b", "function", true]);
  });

  test("imports of packages", async () => {
    const run = () => [parse("1", { ecmaVersion: 2020 }).type, typeof acorn.parse];
    expect(await receiver.run(run)).toEqual(["Program", "function"]);
    expect(functions.shipping.explain(parse).by).toBe("reference");
  });

  test("imports of the user's own modules", async () => {
    const run = () => [greet("you"), shout("hey"), greeter.shout("ho"), new Greeting("hi").say(), projectRoot.name];
    expect(await receiver.run(run)).toEqual(["hello you", "HEY!", "HO!", "HI!", "projectRoot"]);
  });

  test("what the test runner rewrote travels as code", async () => {
    expect(await receiver.run(whereEvaluated)).toBe(process.pid);
  });

  test("classes and their instances", async () => {
    const account = new Account("someone", 5);
    const run = () => [
      account.balance,
      account.deposit(2),
      account.balance,
      Account.opened,
      new Account("x", 1).balance,
    ];
    expect(await receiver.run(run)).toEqual([5, 7, 7, 1, 1]);
    class Failure extends Error {
      code = 3;
    }
    const failure = await receiver.run(() => new Failure("bad"));
    expect(failure).toBeInstanceOf(Failure);
    expect(failure).toMatchObject({ code: 3, message: "bad" });
  });

  test("import() and import.meta", async () => {
    const module = await receiver.run(async () => {
      const { default: inner } = (await import("./fixtures/modules/greeter.mjs")) as typeof greeterModule;
      return [inner("there"), import.meta.url.endsWith("in-vitest.test.ts")];
    });
    expect(module).toEqual(["hello there", true]);
  });

  test("import() of packages, of Node's modules and of what is known later", async () => {
    const name: string = "./fixtures/modules/greeter.mjs";
    const run = async () => [
      (await import("acorn")).parse === parse,
      (await import("node:path")).join("a", "b"),
      ((await import(name)) as typeof greeterModule).shout("hey"),
    ];
    expect(await receiver.run(run)).toEqual([true, "a/b", "HEY!"]);
    const absent: string = "./fixtures/modules/absent.mjs";
    await expect(receiver.run(() => import(absent))).rejects.toThrow("Cannot find module");
  });

  test("streams", async () => {
    const stream = async function* (n: number): AsyncGenerator<number> {
      for (let i = 0; i < n; i += 1) yield i * limit;
    };
    expect(await receiver.run(stream, [3])).toEqual([0, 42, 84]);
  });

  test("stacks show the line in the test file", async () => {
    const here = new Error("here").stack?.split("\n")[1] ?? "";
    const line = Number(/in-vitest\.test\.ts:(\d+)/.exec(here)?.[1]);
    const run = (): never => {
      throw new Error("there");
    };
    await expect(receiver.run(run)).rejects.toThrow(`in-vitest.test.ts:${line + 3}:`);
  });

  test("refusals name the path and the fix", async () => {
    const tools = { run: (text: string): unknown => eval(text) };
    await expect(receiver.run(() => tools.run("1"))).rejects.toThrow(/tools -> run: uses direct eval.*Use/s);
  });
});
