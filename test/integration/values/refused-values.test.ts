import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LoadBalancerContext, routine, SerializationError, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { errorOf } from "../../support/reason-of.ts";
import { note, notesOf } from "../../support/worker-notes.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const take = routine(async (...args: unknown[]) => {
  note("taken", args.length);
  return args.length;
});
const readNotes = routine(async (key: string) => notesOf(key));

const refusal = (call: Promise<unknown>) => errorOf(call, SerializationError);

describe("an argument that cannot travel is refused before anything is sent", () => {
  const server = createServer();
  const values: [string, unknown, RegExp][] = [
    ["a WeakRef", new WeakRef({}), /WeakRef/],
    ["a promise", new Promise(() => undefined), /[Pp]romise/],
    ["an open handle", server, /Server/],
    ["a generator under way", (function* () {})(), /[Gg]enerator/],
  ];

  test.each(values)("%s", async (_name, value, what) => {
    const before = (await readNotes("taken")).length;
    const error = await refusal(take({ deep: [1, { value }] }));
    expect(error.code).toBe("WOOL_SERIALIZATION");
    expect(error.path).toContain("args[0].deep[1].value");
    expect(error.message).toContain("args[0].deep[1].value");
    expect(error.message).toMatch(what);
    expect((await readNotes("taken")).length).toBe(before);
  });

  test("a stream of another routine", async () => {
    const count = routine(async function* () {
      yield 1;
    });
    const stream = count();
    await stream.next();
    const error = await refusal(take({ stream }));
    expect(error.path).toBe("args[0].stream");
    expect(error.message).toMatch(/a started generator cannot continue in another process/);
    await stream.return();
  });

  test("the path is found beside objects whose private fields cannot be had", async () => {
    const context = new LoadBalancerContext(() => 0);
    expect((await refusal(take({ context }))).path).toBe("args[0].context");
    expect((await refusal(take({ deep: { weak: new WeakRef({}) }, context }))).path).toBe("args[0].deep.weak");
  });

  test("the path names the argument, keys that need quotes, and places in collections", async () => {
    const weak = new WeakRef({});
    expect((await refusal(take(1, weak))).path).toBe("args[1]");
    expect((await refusal(take({ "two words": weak }))).path).toMatch(/^args\[0\]\["two words"\]/);
    expect((await refusal(take(new Map([["key", weak]])))).path).toMatch(/^args\[0\].*key/);
    expect((await refusal(take(Object.assign(new Error("e"), { weak })))).path).toBe("args[0].weak");
    class Holder {
      held = weak;
    }
    expect((await refusal(take(new Holder()))).path).toBe("args[0].held");
  });

  test("what each worker can make by itself, with the way to do so", async () => {
    const way = (expression: string): string =>
      `Or have each worker make it once, outside of the routine: const own = perWorker(() => ${expression}), with ` +
      "own.get() in the routine instead of the argument.";
    class Client {
      readonly server = server;
    }
    expect((await refusal(take(server))).message).toBe(
      `args[0]: net.Server holds an open handle. Make it inside the routine, from data that is passed. ${way("...")}`,
    );
    expect((await refusal(take({ clients: [new Client()] }))).message).toBe(
      "args[0].clients[0].server: net.Server holds an open handle. Make it inside the routine, from data that is " +
        `passed. ${way("new Client(...)")}`,
    );
    const schema = new Proxy({}, {});
    expect((await refusal(take({ schema }))).message).toBe(
      "args[0].schema: a Proxy cannot be looked into: it does not show its target. Pass the object behind it, or a copy " +
        `such as { ...proxy }. ${way("...")}`,
    );
    const check = new Proxy(() => true, {});
    expect((await refusal(take(check))).message).toBe(
      "args[0]: a Proxy of a function cannot be looked into: it does not show its target. Pass or capture the function " +
        `behind it. ${way("...")}`,
    );
    const client = new Client();
    expect((await refusal(take(() => client.server))).message).toMatch(
      /^args\[0\] -> client -> server: .* Or have each worker make it once: const client = perWorker\(\(\) => \.\.\.\), with/,
    );
  });

  test("what no worker could make, without such advice", async () => {
    for (const value of [new Promise(() => undefined), new WeakRef({}), (function* () {})()]) {
      expect((await refusal(take(value))).message).not.toContain("perWorker");
    }
    const results = await refusal(routine(async () => (await import("node:net")).createServer())());
    expect(results.message).toContain("net.Server holds an open handle");
    expect(results.message).not.toContain("perWorker");
  });

  test("a pool", async () => {
    const { message } = await refusal(take({ pool }));
    expect(message).toBe("args[0].pool: is a WorkerPool, which belongs to this process. Make it inside the routine.");
  });

  test("the pool is none the worse for it", async () => {
    const { done, failed } = pool.stats();
    await refusal(take(new WeakRef({})));
    expect(pool.stats()).toMatchObject({ inFlight: 0, queued: 0, done, failed });
    expect(await take(1, 2)).toBe(2);
  });
});

describe("what a function captured and cannot travel is refused by name", () => {
  test("with the way to it", async () => {
    const client = { cache: new WeakRef({}) };
    const fetchPage = routine(async function fetchPage() {
      return client;
    });
    const error = await refusal(fetchPage());
    for (const part of ["fetchPage", "client", "cache"]) expect(error.path).toContain(part);
    expect(error.message).toMatch(/WeakRef/);
  });
});

describe("what a task gives back and cannot travel", () => {
  test("as a result", async () => {
    const give = routine(async () => ({ list: [new WeakRef({})] }));
    expect((await refusal(give())).path).toBe("result.list[0]");
    const bare = routine(async () => new WeakRef({}));
    expect((await refusal(bare())).path).toBe("result");
  });

  test("yielded: the generator is closed and the stream over", async () => {
    const stream = routine(async function* () {
      try {
        yield 1;
        yield { item: new WeakRef({}) };
        yield 3;
      } finally {
        note("yielded", "closed");
      }
    });
    const steps = stream();
    expect((await steps.next()).value).toBe(1);
    expect((await refusal(steps.next())).path).toBe("yielded.item");
    expect(await steps.next()).toEqual({ done: true, value: undefined });
    expect(await readNotes("yielded")).toEqual(["closed"]);
  });

  test("thrown: what it was is still told", async () => {
    const fail = routine(async (): Promise<never> => {
      const thrown: unknown = [new RangeError("the real reason"), new WeakRef({})];
      throw thrown;
    });
    const error = await refusal(fail());
    expect(error.message).toContain("the real reason");
    expect(error.path).toBe("error[1]");
  });

  test("returned by a generator", async () => {
    const stream = routine(async function* () {
      yield 1;
      return new WeakRef({});
    });
    const steps = stream();
    await steps.next();
    await refusal(steps.next());
    expect(await steps.next()).toEqual({ done: true, value: undefined });
  });
});

describe("what is sent into a generator and cannot travel", () => {
  const listen = routine(async function* (): AsyncGenerator<unknown, void, unknown> {
    let heard: unknown = "ready";
    for (;;) heard = yield heard;
  });

  test("is refused, and the generator waits for the next step as before", async () => {
    const steps = listen();
    await steps.next();
    await refusal(steps.next({ weak: new WeakRef({}) }));
    expect(await steps.next("fine")).toEqual({ done: false, value: "fine" });
    await refusal(steps.throw(Object.assign(new Error("e"), { weak: new WeakRef({}) })));
    expect(await steps.next("still")).toEqual({ done: false, value: "still" });
    await steps.return();
  });

  test("as an argument, fails the first step and leaves the stream over", async () => {
    const echo = routine(async function* (value: unknown) {
      yield value;
    });
    const steps = echo(new WeakRef({}));
    expect((await refusal(steps.next())).path).toBe("args[0]");
    expect(await steps.next()).toEqual({ done: true, value: undefined });
  });
});

describe("an instance with private fields does not come back if its constructor does more than set fields", () => {
  const made: string[] = [];
  class Vault {
    #gold: number;

    constructor(gold: number) {
      made.push("vault");
      this.#gold = gold;
    }

    add(): this {
      this.#gold += 1;
      return this;
    }

    get gold(): number {
      return this.#gold;
    }
  }
  class Locked extends Error {
    #key = `hidden ${made.push("lock")}`;

    get key(): string {
      return this.#key;
    }
  }
  const vault = new Vault(1);
  const reason = /private fields of Vault.*only the constructor of Vault can set them .*Return plain data/;

  test("as a result, wherever in it", async () => {
    const add = routine(async (given: Vault) => ({ list: [given.gold, given.add()] }));
    const error = await refusal(add(vault));
    expect(error.path).toBe("result.list[1]");
    expect(error.message).toMatch(reason);
    const goldOf = routine(async (given: Vault) => given.add().gold);
    expect([await goldOf(vault), vault.gold]).toEqual([2, 1]);
  });

  test("as a yielded value; what was yielded before it arrives", async () => {
    const stream = routine(async function* () {
      yield 1;
      yield vault;
    })();
    expect(await stream.next()).toEqual({ done: false, value: 1 });
    expect((await refusal(stream.next())).message).toMatch(reason);
  });

  test("as an error, whose message is told", async () => {
    const open = routine(async (): Promise<never> => {
      throw new Locked("the door is locked");
    });
    expect((await refusal(open())).message).toMatch(/the door is locked.*private fields of Locked/);
  });

  test("but it goes from worker to worker and back", async () => {
    const add = routine(async (given: Vault) => given.add());
    const addTwice = routine(async (given: Vault) => (await add(await add(given))).gold);
    expect(await addTwice(vault)).toBe(3);
  });
});
