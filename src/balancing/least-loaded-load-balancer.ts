import { registerTraveller, traveller } from "../values/index.ts";
import type { LoadBalancerContextView, LoadBalancerLike, TaskInfo } from "./load-balancer.ts";

const KIND = "least-loaded-load-balancer";

/**
 * Each task goes to the worker with the fewest tasks; equals take turns. The default. Pools send tasks in runs without
 * asking it; each question takes as long as sorting the workers.
 */
export class LeastLoadedLoadBalancer implements LoadBalancerLike {
  readonly levels = true;
  readonly #turns = new WeakMap<LoadBalancerContextView, number>();

  delegate(_task: TaskInfo, context: LoadBalancerContextView): Iterable<string> {
    const uids = [...context.workers.keys()];
    const turn = this.#turns.get(context) ?? 0;
    this.#turns.set(context, turn + 1);
    const from = uids.length === 0 ? 0 : turn % uids.length;
    const rotated = [...uids.slice(from), ...uids.slice(0, from)];
    return rotated
      .map((uid) => ({ uid, load: context.load(uid) }))
      .sort((a, b) => a.load - b.load)
      .map(({ uid }) => uid);
  }

  /** @internal Nested calls are balanced by one that starts anew. A subclass travels as what it is. */
  get [traveller](): string | undefined {
    return kindOf(this);
  }
}

registerTraveller(KIND, {
  take: () => [],
  make: () => ({ value: new LeastLoadedLoadBalancer(), complete: () => undefined }),
});

/** Outside of the class, which the build would rename if it named itself. */
function kindOf(balancer: object): string | undefined {
  return balancer.constructor === LeastLoadedLoadBalancer ? KIND : undefined;
}
