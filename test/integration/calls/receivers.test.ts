import { createServer, Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, SerializationError, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});

afterAll(async () => {
  await pool.stop();
});

interface Scaled {
  readonly factor: number;
}

const scale = routine(async function (this: Scaled | undefined, x: number) {
  return [process.pid, this === undefined ? x : x * this.factor];
});

describe("`this` of a routine that is a function", () => {
  test("travels when it is a property, or called with call, apply or bind", async () => {
    const scaled = { factor: 3, scale };
    const results = await Promise.all([
      scaled.scale(2),
      scale.call({ factor: 5 }, 2),
      scale.apply({ factor: 7 }, [2]),
      scale.bind({ factor: 11 })(2),
      scale.call(undefined, 2),
    ]);
    expect(results.map(([, result]) => result)).toEqual([6, 10, 14, 22, 2]);
    expect(results.every(([pid]) => pid !== process.pid)).toBe(true);
  });

  test("is undefined where the routine is passed on", async () => {
    const plain = routine(async function (this: unknown, x: number) {
      return [this === undefined, x];
    });
    expect(await pool.dispatch(plain, 1)).toEqual([true, 1]);
    const mapped: unknown[] = [];
    for await (const result of pool.map(plain, [1, 2])) mapped.push(result);
    expect(mapped).toEqual([
      [true, 1],
      [true, 2],
    ]);
    expect(await pool.broadcast(plain, 3)).toMatchObject([{ status: "fulfilled", value: [true, 3] }]);
  });

  test("belongs to a generator, too", async () => {
    const count = routine(async function* (this: { readonly to: number }) {
      for (let n = 1; n <= this.to; n += 1) yield n;
    });
    const counter = { to: 3, count };
    const seen: number[] = [];
    for await (const n of counter.count()) seen.push(n);
    expect(seen).toEqual([1, 2, 3]);
  });

  test("is left alone where the function does not use it", async () => {
    const server = createServer();
    const holder = { server, plain: routine(async (x: number) => x + 1) };
    expect(await holder.plain(1)).toBe(2);
  });
});

class Service {
  server: unknown = createServer();
  readonly watched = new WeakRef({});
  prefix = "hello";
  nested = { deep: createServer() };

  readonly greet = routine(greet);
  readonly touch = routine(touch);
  readonly take = routine(take);
}

async function greet(this: { readonly prefix: string }, name: string) {
  return `${this.prefix} ${name}`;
}

async function touch(this: object, field: string) {
  return typeof Reflect.get(this, field);
}

async function replace(this: { server: unknown }) {
  this.server = 5;
  return { server: this.server, keys: Object.keys(this) };
}

async function take(this: object, value: unknown) {
  return [Reflect.has(this, "prefix"), value];
}

describe("fields of `this` that cannot travel", () => {
  test("do not matter to a method that does not use them", async () => {
    const service = new Service();
    expect(await service.greet("you")).toBe("hello you");
    service.prefix = "goodbye";
    expect(await service.greet("you")).toBe("goodbye you");
  });

  test("throw the error that names them when they are read", async () => {
    const service = new Service();
    for (const [field, path] of [
      ["server", "this.server"],
      ["watched", "this.watched"],
      ["nested", "this.nested.deep"],
    ] as const) {
      const error = await service.touch(field).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(SerializationError);
      expect(error).toMatchObject({ path: expect.stringMatching(`^${path.replaceAll(".", "\\.")}`) });
    }
  });

  test("may be a pool, a logger with a stream and a client with a socket, as services have them", async () => {
    class Orders {
      readonly rate = 2;
      readonly price = routine(async function (this: Orders, amount: number) {
        return this.rate * amount;
      });
      readonly report = routine(async function (this: Orders) {
        return this.logger.level;
      });

      readonly pool: WorkerPool;
      readonly logger: { readonly level: string; readonly stream: unknown };
      readonly client: { readonly socket: Socket };

      constructor(services: Pick<Orders, "pool" | "logger" | "client">) {
        ({ pool: this.pool, logger: this.logger, client: this.client } = services);
      }

      async total(amounts: readonly number[]): Promise<number> {
        const prices = await Promise.all(amounts.map((amount) => this.price(amount)));
        return prices.reduce((sum, price) => sum + price, 0);
      }
    }
    const logger = { level: "info", stream: process.stderr };
    const orders = new Orders({ pool, logger, client: { socket: new Socket() } });
    expect(await orders.total([1, 2, 3])).toBe(12);
    const error = await orders.report().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SerializationError);
    expect(error).toMatchObject({ path: expect.stringMatching(/^this\.logger/) });
  });

  test("can be assigned to, and are listed", async () => {
    const replaceable = routine(replace);
    const { server, keys } = await replaceable.call(new Service());
    expect(server).toBe(5);
    expect(keys).toEqual(expect.arrayContaining(["server", "watched", "prefix", "nested"]));
  });

  test("do not excuse an argument that cannot travel", async () => {
    const service = new Service();
    await expect(service.take(createServer())).rejects.toMatchObject({ path: expect.stringMatching(/^args\[0\]/) });
    await expect(service.take(service)).rejects.toMatchObject({ path: expect.stringMatching(/^args\[0\]\.server/) });
  });
});

test("a method that a helper replaced after the first call is the new one", async () => {
  class Shape {
    area(): string {
      return "before";
    }
  }
  const replace = (cls: { readonly prototype: object }, key: string, value: unknown): void => {
    Reflect.set(cls.prototype, key, value);
  };
  const measure = routine(async () => new Shape().area());
  expect(await measure()).toBe("before");
  replace(Shape, "area", () => "after");
  expect(await measure()).toBe("after");
});
