import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkerMetadata } from "../discovery/index.ts";
import { isLoadBalancer, LeastLoadedLoadBalancer, LoadBalancerContext, RoundRobinLoadBalancer } from "./index.ts";

let sequence = 0;
const task = () => ({ sequence: ++sequence, name: "task", key: undefined });

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
] as const;

/** The first worker that is offered, which is all that the pool asks for when that one has room. */
function first(offered: Iterable<string>): string | undefined {
  for (const uid of offered) return uid;
  return undefined;
}

describe.each(balancers)("%s", (_name, make) => {
  it("offers each worker once for each task", () => {
    fc.assert(
      fc.property(uids, fc.nat(20), (known, turns) => {
        const [balancer, context] = [make(), contextOf(known)];
        for (let i = 0; i <= turns; i++) {
          expect([...balancer.delegate(task(), context)].sort()).toEqual([...known].sort());
        }
      }),
    );
  });

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

  it("sees who comes and goes", () => {
    const change = fc.record({ add: fc.boolean(), uid: fc.constantFrom("a", "b", "c", "d") });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const [balancer, context] = [make(), contextOf([])];
        const model = new Set<string>();
        for (const { add, uid } of changes) {
          if (add) {
            context.add(worker(uid));
            model.add(uid);
          } else {
            context.remove(uid);
            model.delete(uid);
          }
          expect([...balancer.delegate(task(), context)].sort()).toEqual([...model].sort());
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

  it("is a balancer", () => {
    expect(isLoadBalancer(make())).toBe(true);
    for (const value of [null, {}, { delegate: 1 }, () => 1]) expect(isLoadBalancer(value)).toBe(false);
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

  it("tells the load that it is given, none by default", () => {
    expect(new LoadBalancerContext().load("a")).toBe(0);
    expect(new LoadBalancerContext((uid) => uid.length).load("abc")).toBe(3);
  });
});
