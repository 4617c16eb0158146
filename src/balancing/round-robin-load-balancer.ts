import { registerTraveller, traveller } from "../values/index.ts";
import type { LoadBalancerContextView, LoadBalancerLike, TaskInfo } from "./load-balancer.ts";

const KIND = "round-robin-load-balancer";

/** Each task goes to the next worker in a fixed order. Takes constant time for each task. */
export class RoundRobinLoadBalancer implements LoadBalancerLike {
  /** The position in the cycle, for each context: the iterator of a map keeps its position when workers come and go. */
  readonly #cycles = new WeakMap<LoadBalancerContextView, Iterator<string>>();

  *delegate(_task: TaskInfo, context: LoadBalancerContextView): Iterable<string> {
    for (let left = context.workers.size; left > 0; left--) {
      const uid = this.#next(context);
      if (uid === undefined) return;
      yield uid;
    }
  }

  #next(context: LoadBalancerContextView): string | undefined {
    const step = this.#cycles.get(context)?.next();
    if (step !== undefined && step.done !== true) return step.value;
    const cycle = context.workers.keys();
    this.#cycles.set(context, cycle);
    const first = cycle.next();
    return first.done === true ? undefined : first.value;
  }

  /** @internal Nested calls use a new instance. A subclass travels like any other object. */
  get [traveller](): string | undefined {
    return kindOf(this);
  }
}

registerTraveller(KIND, {
  take: () => [],
  make: () => ({ value: new RoundRobinLoadBalancer(), complete: () => undefined }),
});

/** Outside the class, because the build would rename the class if it named itself. */
function kindOf(balancer: object): string | undefined {
  return balancer.constructor === RoundRobinLoadBalancer ? KIND : undefined;
}
