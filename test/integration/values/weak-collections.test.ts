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

interface Item {
  readonly name: string;
}

describe("a captured WeakMap", () => {
  test("knows the arguments of each call", async () => {
    const prices = new WeakMap<object, number>();
    const priceOf = routine(async (items: Item[]) => items.map((item) => prices.get(item)));
    const [tea, jam, salt] = [{ name: "tea" }, { name: "jam" }, { name: "salt" }];
    prices.set(tea, 3);
    expect(await priceOf([tea, jam])).toEqual([3, undefined]);
    prices.set(jam, 4).set(salt, 1).delete(tea);
    expect(await priceOf([tea, jam, salt])).toEqual([undefined, 4, 1]);
  });

  test("knows what was captured with it, also after a change", async () => {
    const settings = { name: "settings" };
    const levels = new WeakMap<object, { level: number }>([[settings, { level: 1 }]]);
    const read = routine(async () => levels.get(settings)?.level);
    expect(await read()).toBe(1);
    levels.set(settings, { level: 2 });
    expect(await read()).toBe(2);
  });

  test("gets the entries that a task makes for what it returns, throws and yields", async () => {
    const owners = new WeakMap<object, string>();
    const make = routine(async (name: string) => {
      const made = { name };
      owners.set(made, `owner of ${name}`);
      return [made, { name: "unowned" }];
    });
    const [made, unowned] = await make("tea");
    expect(owners.get(made ?? {})).toBe("owner of tea");
    expect(owners.has(unowned ?? {})).toBe(false);

    const fail = routine(async (): Promise<never> => {
      const error = new RangeError("no");
      owners.set(error, "failure");
      throw error;
    });
    const error: unknown = await fail().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RangeError);
    expect(owners.get(error as object)).toBe("failure");

    const stream = routine(async function* (): AsyncGenerator<object, object, Item> {
      const yielded = { step: 1 };
      owners.set(yielded, "step");
      const sent = yield yielded;
      const last = { heard: owners.get(sent) };
      owners.set(last, "last");
      return last;
    })();
    const first = await stream.next();
    expect(owners.get(first.value)).toBe("step");
    const sent = { name: "sent" };
    owners.set(sent, "sender");
    const last = await stream.next(sent);
    expect([last.value, owners.get(last.value)]).toEqual([{ heard: "sender" }, "last"]);
  });

  test("serves as a cache by object that lasts as long as the object", async () => {
    const cache = new WeakMap<object, number>();
    const lengthOf = (item: Item): number => {
      const known = cache.get(item);
      if (known !== undefined) return known;
      cache.set(item, item.name.length);
      return item.name.length;
    };
    const measure = routine(async (item: Item) => [lengthOf(item), cache.has(item)]);
    const item = { name: "four" };
    expect(await measure(item)).toEqual([4, true]);
    expect(cache.has(item)).toBe(false);
    cache.set(item, 99);
    expect(await measure(item)).toEqual([99, true]);
  });

  test("reaches the routines that a task calls", async () => {
    const tags = new WeakMap<object, string>();
    const inner = routine(async (item: Item) => tags.get(item));
    const outer = routine(async (item: Item) => {
      const copy = { ...item };
      tags.set(copy, `${tags.get(item)}!`);
      return [await inner(item), await inner(copy)];
    });
    const item = { name: "a" };
    tags.set(item, "tag");
    expect(await outer(item)).toEqual(["tag", "tag!"]);
  });

  test("with a value that cannot travel fails the call that brings its key, and no other", async () => {
    const handles = new WeakMap<object, unknown>();
    const use = routine(async (item: Item) => handles.has(item));
    const bad = { name: "bad" };
    handles.set(bad, new WeakRef({}));
    const error: unknown = await use(bad).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SerializationError);
    expect((error as SerializationError).path).toBe("args[0] -> its value in a WeakMap");
    expect(await use({ name: "good" })).toBe(false);
  });
});

test("a WeakSet, captured", async () => {
  const seen = new WeakSet<object>();
  const mark = routine(async (item: Item) => {
    const before = seen.has(item);
    const made = { name: "made" };
    seen.add(made);
    return { before, made };
  });
  const item = { name: "a" };
  expect((await mark(item)).before).toBe(false);
  seen.add(item);
  const { before, made } = await mark(item);
  expect([before, seen.has(made)]).toEqual([true, true]);
});

test("a collection that is an argument or a result", async () => {
  const notes = new WeakMap<object, string>();
  const key = { name: "key" };
  notes.set(key, "note");
  const read = routine(async (given: WeakMap<object, string>, item: Item) => {
    const note = given.get(item);
    const made = { name: "made" };
    given.set(made, "new");
    return { note, made, given };
  });
  const back = await read(notes, key);
  expect(back.note).toBe("note");
  expect(back.given).toBe(notes);
  expect(notes.get(back.made)).toBe("new");
  const make = routine(async () => {
    const item = { name: "made there" };
    return { item, set: new WeakSet([item]) };
  });
  const { item, set } = await make();
  expect(set).toBeInstanceOf(WeakSet);
  expect([set.has(item), set.has({ name: "other" })]).toEqual([true, false]);
});

describe("private fields that a compiler keeps in WeakMaps", () => {
  const balances = new WeakMap<object, number>();
  const accounts = new WeakSet<object>();
  class Account {
    constructor(balance: number) {
      balances.set(this, balance);
      accounts.add(this);
    }

    deposit(amount: number): this {
      if (!accounts.has(this)) throw new TypeError("not an account");
      balances.set(this, this.balance + amount);
      return this;
    }

    get balance(): number {
      const balance = balances.get(this);
      if (balance === undefined) throw new TypeError("no balance");
      return balance;
    }
  }

  test("go to the worker and come back", async () => {
    const deposit = routine(async (account: Account, amount: number) => account.deposit(amount));
    const account = new Account(10);
    const back = await deposit(account, 5);
    expect(back).toBeInstanceOf(Account);
    expect([back.balance, back.deposit(1).balance, account.balance]).toEqual([15, 16, 10]);
  });

  test("when the instance is captured, or made on the worker", async () => {
    const account = new Account(1);
    const read = routine(async () => account.balance);
    expect(await read()).toBe(1);
    account.deposit(2);
    expect(await read()).toBe(3);
    const open = routine(async (balance: number) => [new Account(balance)]);
    const [made] = await open(7);
    expect(made?.deposit(1).balance).toBe(8);
  });
});
