import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkerMetadata } from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";
import {
  ConsistentHashLoadBalancer,
  isDispatchingLoadBalancer,
  isLoadBalancer,
  LeastLoadedLoadBalancer,
  LoadBalancerContext,
  PowerOfTwoLoadBalancer,
  RoundRobinLoadBalancer,
} from "./index.ts";
import type { TaskInfo } from "./load-balancer.ts";

let sequence = 0;
const task = (key?: string): TaskInfo => ({
  sequence: ++sequence,
  name: "task",
  key,
  needs: [],
  kind: "call",
  caller: undefined,
  bytes: 0,
});

function worker(uid: string, extra: Record<string, string> = {}): WorkerMetadata {
  return {
    uid,
    address: `127.0.0.1:${1000 + uid.length}`,
    pid: 0,
    version: "",
    tags: new Set(),
    extra,
    secure: false,
    channel: {},
  };
}

function contextOf(uids: readonly string[], load: (uid: string) => number = () => 0): LoadBalancerContext {
  const context = new LoadBalancerContext(load);
  for (const uid of uids) context.add(worker(uid));
  return context;
}

const uids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 });
const balancers = [
  ["RoundRobinLoadBalancer", () => new RoundRobinLoadBalancer()],
  ["LeastLoadedLoadBalancer", () => new LeastLoadedLoadBalancer()],
  ["PowerOfTwoLoadBalancer", () => new PowerOfTwoLoadBalancer({ random: repeatable() })],
  ["ConsistentHashLoadBalancer", () => new ConsistentHashLoadBalancer()],
] as const;
const keys = fc.option(fc.string(), { nil: undefined });

/** Numbers that look random and are the same in each run. */
function repeatable(): () => number {
  let state = 1;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** The first worker that is offered. The pool asks for no more when that one has room. */
function first(offered: Iterable<string>): string | undefined {
  for (const uid of offered) return uid;
  return undefined;
}

describe.each(balancers)("%s", (_name, make) => {
  it("offers each worker once for each task", () => {
    fc.assert(
      fc.property(uids, fc.array(keys, { minLength: 1, maxLength: 20 }), fc.func(fc.nat(3)), (known, tasks, load) => {
        const [balancer, context] = [make(), contextOf(known, load)];
        for (const key of tasks) {
          expect([...balancer.delegate(task(key), context)].sort()).toEqual([...known].sort());
        }
      }),
    );
  });

  it("sees who comes and goes and changes, and passes over whom has gone", () => {
    const change = fc.record({
      how: fc.constantFrom("add", "update", "remove" as const),
      uid: fc.constantFrom("a", "b", "c", "d"),
      key: keys,
    });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const [balancer, context] = [make(), contextOf([])];
        const model = new Set<string>();
        for (const { how, uid, key } of changes) {
          if (how === "add") {
            context.add(worker(uid));
            model.add(uid);
          } else if (how === "update") context.update(worker(uid, { zone: "x" }));
          else {
            context.remove(uid);
            model.delete(uid);
          }
          expect([...balancer.delegate(task(key), context)].sort()).toEqual([...model].sort());
        }
      }),
    );
  });

  it("offers nobody when there is nobody", () => {
    const [balancer, context] = [make(), contextOf([])];
    expect([...balancer.delegate(task(), context)]).toEqual([]);
    context.add(worker("late"));
    expect(first(balancer.delegate(task(), context))).toBe("late");
  });

  it("keeps what it knows for each context", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ first: fc.boolean(), key: keys }), { maxLength: 30 }), (tasks) => {
        const shared = make();
        const contexts = { first: contextOf(["a", "b", "c"]), second: contextOf(["d", "e"]) };
        const offered = { first: new Set<string>(), second: new Set<string>() };
        for (const { first: isFirst, key } of tasks) {
          const which = isFirst ? "first" : "second";
          for (const uid of shared.delegate(task(key), contexts[which])) offered[which].add(uid);
        }
        for (const which of ["first", "second"] as const) {
          for (const uid of offered[which]) expect(contexts[which].workers.has(uid)).toBe(true);
        }
      }),
    );
  });

  it("is a balancer", () => {
    expect(isLoadBalancer(make())).toBe(true);
    expect(isDispatchingLoadBalancer(make())).toBe(false);
  });
});

it("tells what is a balancer, and of which kind", () => {
  for (const value of [null, {}, { delegate: 1 }, { dispatch: 1 }, () => 1, "x"]) {
    expect([isLoadBalancer(value), isDispatchingLoadBalancer(value)]).toEqual([false, false]);
  }
  expect(isDispatchingLoadBalancer({ dispatch: () => undefined })).toBe(true);
});

/** The balancers that take turns among equally loaded workers. */
const inTurn = balancers.filter(([name]) => /RoundRobin|LeastLoaded/.test(name));

describe.each(inTurn)("%s", (_name, make) => {
  it("among workers that are all idle chooses each once in a cycle", () => {
    fc.assert(
      fc.property(uids, fc.integer({ min: 1, max: 3 }), (known, cycles) => {
        const [balancer, context] = [make(), contextOf(known)];
        for (let cycle = 0; cycle < cycles; cycle++) {
          const chosen = known.map(() => first(balancer.delegate(task(), context)));
          expect([...chosen].sort()).toEqual([...known].sort());
        }
      }),
    );
  });

  it("takes the turns of each context by themselves", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), (choices) => {
        const known = ["a", "b", "c"];
        const shared = make();
        const pools = [contextOf(known), contextOf(known)] as const;
        const alone = [make(), make()] as const;
        const lonely = [contextOf(known), contextOf(known)] as const;
        for (const choice of choices) {
          const i = choice ? 0 : 1;
          expect(first(shared.delegate(task(), pools[i]))).toBe(first(alone[i].delegate(task(), lonely[i])));
        }
      }),
    );
  });
});

describe("RoundRobinLoadBalancer", () => {
  it("goes on after the worker that was taken, not after the one that was offered first", () => {
    const [balancer, context] = [new RoundRobinLoadBalancer(), contextOf(["a", "b", "c"])];
    const offered: string[] = [];
    for (const uid of balancer.delegate(task(), context)) {
      offered.push(uid);
      if (uid === "b") break;
    }
    expect(offered).toEqual(["a", "b"]);
    expect([...balancer.delegate(task(), context)]).toEqual(["c", "a", "b"]);
  });

  it("passes over workers that have gone", () => {
    const [balancer, context] = [new RoundRobinLoadBalancer(), contextOf(["a", "b", "c"])];
    first(balancer.delegate(task(), context));
    context.remove("b");
    expect(first(balancer.delegate(task(), context))).toBe("c");
    expect(first(balancer.delegate(task(), context))).toBe("a");
  });

  it("looks at one worker for each task, however many there are", () => {
    const context = contextOf(Array.from({ length: 500 }, (_, i) => `w${i}`));
    let looks = 0;
    const counted = {
      workers: {
        size: 500,
        keys: () => {
          const keys = context.workers.keys();
          return {
            next: () => {
              looks++;
              return keys.next();
            },
          };
        },
      } as never,
      version: 0,
      load: () => 0,
    };
    const balancer = new RoundRobinLoadBalancer();
    const chosen = new Set<string | undefined>();
    for (let i = 0; i < 500; i++) chosen.add(first(balancer.delegate(task(), counted)));
    expect([chosen.size, looks]).toEqual([500, 500]);
  });
});

describe("LeastLoadedLoadBalancer", () => {
  it("offers workers by what they have to do", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.nat(5)), fc.nat(5), (loads, turns) => {
        const table = new Map(Object.entries(loads));
        const context = contextOf([...table.keys()], (uid) => table.get(uid) ?? 0);
        const balancer = new LeastLoadedLoadBalancer();
        for (let i = 0; i <= turns; i++) {
          const order = [...balancer.delegate(task(), context)].map((uid) => table.get(uid) ?? 0);
          expect(order).toEqual([...order].sort((a, b) => a - b));
        }
      }),
    );
  });

  it("lets the pool hand out runs", () => {
    expect(new LeastLoadedLoadBalancer().levels).toBe(true);
  });
});

describe("PowerOfTwoLoadBalancer", () => {
  it("offers the less loaded of two different workers first, then the other, then the rest", () => {
    const number = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(uids, fc.func(fc.nat(4)), number, number, (known, load, one, other) => {
        fc.pre(known.length >= 2);
        const draws = [one, other];
        const balancer = new PowerOfTwoLoadBalancer({ random: () => draws.shift() ?? 0 });
        const [a, b] = balancer.delegate(task(), contextOf(known, load));
        if (a === undefined || b === undefined) throw new Error("fewer than two were offered");
        expect(a).not.toBe(b);
        expect(load(a)).toBeLessThanOrEqual(load(b));
        expect(draws).toEqual([]);
      }),
    );
  });

  it("draws every pair", () => {
    const known = ["a", "b", "c", "d"];
    const balancer = new PowerOfTwoLoadBalancer({ random: repeatable() });
    const context = contextOf(known);
    const pairs = new Set<string>();
    for (let i = 0; i < 500; i++) pairs.add([...balancer.delegate(task(), context)].slice(0, 2).join(""));
    expect(pairs.size).toBe(12);
  });

  it("keeps loads closer together than chance does", () => {
    const known = Array.from({ length: 50 }, (_, i) => `w${i}`);
    const spread = (choose: (context: LoadBalancerContext) => string | undefined): number => {
      const loads = new Map(known.map((uid) => [uid, 0]));
      const context = contextOf(known, (uid) => loads.get(uid) ?? 0);
      for (let i = 0; i < 5000; i++) {
        const uid = choose(context) ?? "";
        loads.set(uid, (loads.get(uid) ?? 0) + 1);
      }
      return Math.max(...loads.values()) - Math.min(...loads.values());
    };
    const random = repeatable();
    const balancer = new PowerOfTwoLoadBalancer({ random: repeatable() });
    const ofTwo = spread((context) => first(balancer.delegate(task(), context)));
    const ofOne = spread(() => known[Math.floor(random() * known.length)]);
    expect(ofTwo).toBeLessThan(ofOne / 3);
  });

  it("draws from Math.random unless told otherwise", () => {
    const context = contextOf(Array.from({ length: 8 }, (_, i) => `w${i}`));
    const balancer = new PowerOfTwoLoadBalancer();
    const chosen = new Set<string | undefined>();
    while (chosen.size < 8) chosen.add(first(balancer.delegate(task(), context)));
  });

  it("says what is wrong with its random numbers", () => {
    expect(() => new PowerOfTwoLoadBalancer({ random: 4 as never })).toThrow(
      /^PowerOfTwoLoadBalancer: option "random" must be a function, not 4$/,
    );
    for (const wrong of [1, -0.1, Number.NaN, undefined]) {
      const balancer = new PowerOfTwoLoadBalancer({ random: () => wrong as number });
      expect(() => first(balancer.delegate(task(), contextOf(["a", "b"])))).toThrow(InvalidArgument);
      expect(() => first(balancer.delegate(task(), contextOf(["a", "b"])))).toThrow(
        /it must return numbers from 0 to 1, without 1/,
      );
    }
  });
});

describe("ConsistentHashLoadBalancer", () => {
  const someKeys = Array.from({ length: 300 }, (_, i) => `key ${i}`);
  const owners = (
    balancer: ConsistentHashLoadBalancer,
    context: LoadBalancerContext,
  ): Map<string, string | undefined> =>
    new Map(someKeys.map((key) => [key, first(balancer.delegate(task(key), context))]));

  it("gives a key to the same worker, whatever the order in which workers were found, and however it came there", () => {
    fc.assert(
      fc.property(
        uids,
        fc.array(fc.string({ minLength: 5, maxLength: 6 })),
        fc.func(fc.nat(5)),
        (known, past, load) => {
          const there = new ConsistentHashLoadBalancer();
          const context = contextOf([...past, ...[...known].reverse()], load);
          first(there.delegate(task("x"), context));
          for (const uid of past) context.remove(uid);
          expect(owners(there, context)).toEqual(owners(new ConsistentHashLoadBalancer(), contextOf(known)));
        },
      ),
      { numRuns: 30 },
    );
  });

  it("moves only the keys of a worker that leaves, and to a worker that joins only what is its own", () => {
    fc.assert(
      fc.property(uids, fc.nat(), (known, choice) => {
        const leaver = known[choice % known.length] ?? "";
        const [balancer, context] = [new ConsistentHashLoadBalancer(), contextOf(known)];
        const before = owners(balancer, context);
        context.remove(leaver);
        const without = owners(balancer, context);
        for (const [key, owner] of without) if (before.get(key) !== leaver) expect(owner).toBe(before.get(key));
        context.add(worker(leaver));
        expect(owners(balancer, context)).toEqual(before);
      }),
      { numRuns: 30 },
    );
  });

  it("spreads keys evenly enough", () => {
    const context = contextOf(Array.from({ length: 10 }, (_, i) => `w-${i}`));
    const balancer = new ConsistentHashLoadBalancer();
    const counts = new Map<string | undefined, number>();
    for (let i = 0; i < 10_000; i++) {
      const owner = first(balancer.delegate(task(`user:${i}`), context));
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
    for (const count of counts.values()) expect(count).toBeGreaterThan(600);
    for (const count of counts.values()) expect(count).toBeLessThan(1500);
    expect(counts.size).toBe(10);
  });

  it("has tasks with a key wait for their worker, and no others", () => {
    const balancer = new ConsistentHashLoadBalancer();
    expect([balancer.waits(task("k")), balancer.waits(task(""))]).toEqual([true, true]);
    expect(balancer.waits(task())).toBe(false);
  });

  it("gives tasks without a key to the less loaded of two", () => {
    const context = contextOf(["a", "b"], (uid) => (uid === "a" ? 5 : 0));
    expect([...new ConsistentHashLoadBalancer().delegate(task(), context)]).toEqual(["b", "a"]);
  });

  it("works with few points as well, and says how many there can be", () => {
    const balancer = new ConsistentHashLoadBalancer({ points: 1 });
    expect([...balancer.delegate(task("k"), contextOf(["a", "b", "c"]))].sort()).toEqual(["a", "b", "c"]);
    for (const points of [0, 1.5, 4097, Number.NaN, "8"]) {
      expect(() => new ConsistentHashLoadBalancer({ points: points as number })).toThrow(
        /option "points" must be a whole number from 1 to 4096, not/,
      );
    }
  });
});

describe("LoadBalancerContext", () => {
  it("shows the newest facts of a worker, in the order in which workers came", () => {
    const context = contextOf(["a", "b"]);
    context.update(worker("a", { zone: "x" }));
    expect([...context.workers.keys()]).toEqual(["a", "b"]);
    expect(context.workers.get("a")?.extra).toEqual({ zone: "x" });
  });

  it("does not add what it is told of a worker that is not there", () => {
    const context = contextOf(["a"]);
    context.update(worker("ghost"));
    context.remove("ghost");
    expect([...context.workers.keys()]).toEqual(["a"]);
  });

  it("has another version after each change, and only then", () => {
    const context = contextOf(["a"]);
    const versions = [context.version];
    for (const change of [
      () => context.add(worker("b")),
      () => context.update(worker("b", { zone: "x" })),
      () => context.remove("b"),
    ]) {
      change();
      expect(versions).not.toContain(context.version);
      versions.push(context.version);
    }
    context.remove("b");
    context.update(worker("b"));
    expect(context.version).toBe(versions.at(-1));
  });

  it("tells the load that it is given, none by default", () => {
    expect(new LoadBalancerContext().load("a")).toBe(0);
    expect(new LoadBalancerContext((uid) => uid.length).load("abc")).toBe(3);
  });
});
