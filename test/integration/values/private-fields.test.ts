import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const Level = { low: 1 };

class Account {
  #balance = 0;
  #log: number[] = [];
  #level = Level.low;
  readonly owner: string;

  constructor(owner: string, balance = 5) {
    if (typeof owner !== "string") throw new TypeError("an account has an owner");
    this.owner = owner;
    this.#balance = balance;
  }

  deposit(amount: number): this {
    this.#balance += amount;
    this.#level += 1;
    this.#log.push(amount);
    return this;
  }

  get state(): unknown[] {
    return [this.owner, this.#balance, this.#log, this.#level, this.#secret()];
  }

  #secret(): string {
    return `secret of ${this.owner}`;
  }

  static areEqual(one: Account, other: Account): boolean {
    return one.#balance === other.#balance;
  }
}

class Savings extends Account {
  #rate: number;

  constructor(owner: string, rate: number) {
    super(owner, 1);
    this.#rate = rate;
  }

  get rate(): number {
    return this.#rate;
  }
}

class Young extends Savings {
  age = 3;
}

describe("an instance with private fields comes back as an instance of its class", () => {
  test("as a copy with the state that it has at the worker", async () => {
    const deposit = routine(async (account: Account, amount: number) => account.deposit(amount));
    const account = new Account("ada");
    const other = await deposit(account, 10);
    expect(other).not.toBe(account);
    expect(Object.getPrototypeOf(other)).toBe(Account.prototype);
    expect(other.state).toEqual(["ada", 15, [10], 2, "secret of ada"]);
    expect(account.state).toEqual(["ada", 5, [], 1, "secret of ada"]);
    expect(Account.areEqual(other, account.deposit(10))).toBe(true);
    expect(Object.keys(other)).toEqual(["owner"]);
  });

  test("of a class that extends others", async () => {
    const make = routine(async () => [new Savings("bob", 0.1).deposit(2), new Young("cy", 0.2)]);
    const [savings, young] = await make();
    expect([savings?.state, savings?.rate]).toEqual([["bob", 3, [2], 2, "secret of bob"], 0.1]);
    expect(young).toBeInstanceOf(Young);
    expect([young?.rate, Object.entries(young ?? {})]).toEqual([
      0.2,
      [
        ["owner", "cy"],
        ["age", 3],
      ],
    ]);
  });

  test("of a class that the task defines, which extends one of the caller", async () => {
    const make = routine(async () => {
      class Joint extends Account {
        #partner = "eve";
        get partner() {
          return this.#partner;
        }
      }
      return new Joint("dan");
    });
    const joint = await make();
    expect(joint).toBeInstanceOf(Account);
    expect([joint.partner, joint.deposit(1).state[1]]).toEqual(["eve", 6]);
  });

  test("where it leads back to itself, in a stream, frozen, and asked for as data", async () => {
    class Link {
      #next: Link | undefined;
      constructor(next?: Link) {
        this.#next = next;
      }
      get next(): Link | undefined {
        return this.#next;
      }
      set next(link: Link) {
        this.#next = link;
      }
    }
    const ring = routine(async function* () {
      const first = new Link();
      first.next = new Link(first);
      yield first;
      const last = new Link(first);
      Object.freeze(last);
      yield last;
    });
    const links: Link[] = [];
    for await (const link of ring.with({ results: "data" })()) links.push(link);
    expect(links[0]?.next?.next).toBe(links[0]);
    expect(Object.isFrozen(links[1])).toBe(true);
    expect(links[1]?.next?.next?.next).toBeInstanceOf(Link);
  });

  test("of a class that extends Error, Map or Set", async () => {
    class Failure extends Error {
      #code: number;
      constructor(message: string, code: number) {
        super(message);
        this.#code = code;
      }
      get code(): number {
        return this.#code;
      }
    }
    class Bag extends Map<string, number> {
      #changes = 0;
      override set(key: string, value: number): this {
        this.#changes += 1;
        return super.set(key, value);
      }
      get changes(): number {
        return this.#changes;
      }
    }
    const fail = routine(async (): Promise<never> => {
      throw new Failure("broken", 7);
    });
    const error: unknown = await fail().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Failure);
    expect(error).toMatchObject({ message: "broken", code: 7 });
    const fill = routine(async () => new Bag().set("a", 1).set("a", 2));
    const bag = await fill();
    expect([bag.changes, [...bag], bag.set("b", 3).changes]).toEqual([2, [["a", 2]], 3]);
  });
});

describe("a constructor that does more than to set fields is not run", () => {
  const seen: string[] = [];
  const told = (text: string): string => {
    seen.push(text);
    return text;
  };
  class Counted {
    #number = seen.push("counted");
    get number(): number {
      return this.#number;
    }
  }
  class Registered {
    #name: string;
    constructor(name: string) {
      this.#name = told(name);
    }
    get name(): string {
      return this.#name;
    }
  }
  class Observed {
    #size = 1;
    constructor() {
      this.size = 2;
    }
    get size(): number {
      return this.#size;
    }
    set size(size: number) {
      this.#size = size;
      seen.push("observed");
    }
  }
  class Private {
    #size = 1;
    constructor() {
      this.#own = 2;
    }
    set #own(size: number) {
      this.#size = size;
      seen.push("private");
    }
    get size(): number {
      return this.#size;
    }
  }
  class Inherited extends Counted {
    #more = 1;
    get more(): number {
      return this.#more;
    }
  }
  const makers: [string, () => Promise<unknown>][] = [
    ["Counted", routine(async () => new Counted())],
    ["Registered", routine(async () => new Registered("it"))],
    ["Observed", routine(async () => new Observed())],
    ["Private", routine(async () => new Private())],
    ["Inherited", routine(async () => new Inherited())],
  ];

  test.each(makers)("%s", async (_, make) => {
    const error: unknown = await make().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "SerializationError", message: expect.stringContaining("private fields of") });
    expect(seen).toEqual([]);
  });
});
