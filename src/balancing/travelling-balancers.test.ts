import { describe, expect, it } from "vitest";
import { decode, encode } from "../values/index.ts";
import { ConsistentHashLoadBalancer } from "./consistent-hash-load-balancer.ts";
import { LeastLoadedLoadBalancer } from "./least-loaded-load-balancer.ts";
import type { LoadBalancerLike, TaskInfo } from "./load-balancer.ts";
import { LoadBalancerContext } from "./load-balancer-context.ts";
import { PowerOfTwoLoadBalancer } from "./power-of-two-load-balancer.ts";
import { RoundRobinLoadBalancer } from "./round-robin-load-balancer.ts";

function travelled<T>(value: T): T {
  return decode(encode(value)) as T;
}

function contextOf(...uids: string[]): LoadBalancerContext {
  const context = new LoadBalancerContext();
  for (const uid of uids) {
    context.add({
      uid,
      address: `${uid}:1`,
      pid: 0,
      version: "",
      tags: new Set(),
      extra: {},
      secure: false,
      channel: {},
    });
  }
  return context;
}

const task = (sequence: number, key?: string) => ({ sequence, name: "task", key }) as TaskInfo;

describe("a built-in balancer that travels", () => {
  it.each([LeastLoadedLoadBalancer, RoundRobinLoadBalancer, PowerOfTwoLoadBalancer, ConsistentHashLoadBalancer])(
    "is a %s of its own",
    (Balancer) => {
      const original: LoadBalancerLike = new Balancer();
      const arrived = travelled(original);
      expect(arrived).toBeInstanceOf(Balancer);
      expect(arrived).not.toBe(original);
      expect([...(arrived.delegate(task(1), contextOf("a", "b")) as Iterable<string>)].sort()).toEqual(["a", "b"]);
    },
  );

  it("keeps its options", () => {
    const context = contextOf("a", "b", "c", "d");
    const points = new ConsistentHashLoadBalancer({ points: 1 });
    const drawn = new PowerOfTwoLoadBalancer({ random: () => 0 });
    const other = new ConsistentHashLoadBalancer();
    const keys = Array.from({ length: 50 }, (_, i) => `key ${i}`);
    const owners = (balancer: LoadBalancerLike): string[] =>
      keys.map((key) => [...(balancer.delegate(task(1, key), context) as Iterable<string>)][0] ?? "");
    expect(owners(travelled(points))).toEqual(owners(points));
    expect(owners(travelled(points))).not.toEqual(owners(other));
    expect([...travelled(drawn).delegate(task(1), context)]).toEqual([...drawn.delegate(task(1), context)]);
  });

  it("may be inside of a balancer of the user's", () => {
    class Pinned implements LoadBalancerLike {
      readonly inner = new ConsistentHashLoadBalancer();
      delegate(info: TaskInfo, context: LoadBalancerContext): Iterable<string> {
        return this.inner.delegate({ ...info, key: "one" }, context);
      }
    }
    const context = contextOf("a", "b", "c");
    const original = new Pinned();
    expect([...travelled(original).delegate(task(1), context)]).toEqual([...original.delegate(task(1), context)]);
  });
});
