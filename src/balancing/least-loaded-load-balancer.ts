import { registerTraveller, traveller } from "../values/index.ts";
import type { LoadBalancerContextView, LoadBalancerLike, TaskInfo } from "./load-balancer.ts";

const KIND = "least-loaded-load-balancer";

/** Workers that are compared at a time. That is all of them in most pools, and nearly as good as all in larger ones. */
const MOST_LOOKS = 128;

/**
 * Each task goes to the worker with the fewest tasks; equals take turns. The default. Pools send tasks in runs without
 * asking it. In a pool of more than 128 workers a task goes to a worker without tasks, or to the one of 128 with the
 * fewest.
 */
export class LeastLoadedLoadBalancer implements LoadBalancerLike {
  readonly levels = true;
  /** The position in the cycle, for each context. The iterator of a map keeps its position when workers come and go. */
  readonly #turns = new WeakMap<LoadBalancerContextView, Iterator<string>>();

  *delegate(_task: TaskInfo, context: LoadBalancerContextView): Iterable<string> {
    let busy: { readonly uid: string; readonly load: number }[] = [];
    for (let left = context.workers.size; left > 0; left--) {
      const uid = this.#next(context);
      if (uid === undefined) break;
      const load = context.load(uid);
      if (load === 0) yield uid;
      else busy.push({ uid, load });
      if (left > 1 && busy.length < MOST_LOOKS) continue;
      // The first worker has had its turn.
      if (left === 1) this.#next(context);
      for (const each of busy.sort((a, b) => a.load - b.load)) yield each.uid;
      busy = [];
    }
  }

  #next(context: LoadBalancerContextView): string | undefined {
    const step = this.#turns.get(context)?.next();
    if (step !== undefined && step.done !== true) return step.value;
    const turns = context.workers.keys();
    this.#turns.set(context, turns);
    const first = turns.next();
    return first.done === true ? undefined : first.value;
  }

  /** @internal Nested calls use a new instance. A subclass travels like any other object. */
  get [traveller](): string | undefined {
    return kindOf(this);
  }
}

registerTraveller(KIND, {
  take: () => [],
  make: () => ({ value: new LeastLoadedLoadBalancer(), complete: () => undefined }),
});

/** Outside the class, because the build would rename the class if it named itself. */
function kindOf(balancer: object): string | undefined {
  return balancer.constructor === LeastLoadedLoadBalancer ? KIND : undefined;
}
