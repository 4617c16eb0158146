import type { LoadBalancerContextView, LoadBalancerLike, TaskInfo } from "./load-balancer.ts";

/** Each task goes to the worker after the one that got the task before it. */
export class RoundRobinLoadBalancer implements LoadBalancerLike {
  readonly #turns = new WeakMap<LoadBalancerContextView, number>();

  *delegate(_task: TaskInfo, context: LoadBalancerContextView): Iterable<string> {
    const uids = [...context.workers.keys()];
    const first = (this.#turns.get(context) ?? -1) + 1;
    for (let i = 0; i < uids.length; i++) {
      const index = (first + i) % uids.length;
      this.#turns.set(context, index);
      yield uids[index] as string;
    }
  }
}
