import { checkOption, must } from "../checks/index.ts";
import { registerTraveller, traveller } from "../values/index.ts";
import { HashRing } from "./hash-ring.ts";
import type { LoadBalancerContextView, LoadBalancerLike, TaskInfo } from "./load-balancer.ts";
import { PowerOfTwoLoadBalancer } from "./power-of-two-load-balancer.ts";

const KIND = "consistent-hash-load-balancer";
const DEFAULT_POINTS = 128;
const MOST_POINTS = 4096;

/** How a `ConsistentHashLoadBalancer` is made. */
export interface ConsistentHashOptions {
  /** Points on the ring for each worker: more points spread keys more evenly. From 1 to 4096. Default: 128. */
  readonly points?: number;
}

interface Ring {
  version: number;
  readonly ring: HashRing;
}

/**
 * Tasks with the same `key` go to the same worker, and wait for it when it has no room. When a worker leaves, its keys
 * go to the others. When one joins, it takes its share. No other key moves. All callers that know the same workers
 * agree. Tasks without a key go to the less loaded of two random workers.
 *
 * Finding a worker is a binary search among `points` points for each worker. When a worker joins or leaves, only its
 * points are computed, and merged with the others once.
 */
export class ConsistentHashLoadBalancer implements LoadBalancerLike {
  #points: number;
  readonly #rings = new WeakMap<LoadBalancerContextView, Ring>();
  readonly #keyless = new PowerOfTwoLoadBalancer();

  /** Throws `InvalidArgument` unless `points` is a whole number from 1 to 4096. */
  constructor(options: ConsistentHashOptions = {}) {
    const { points = DEFAULT_POINTS } = options;
    checkOption(points, must.wholeNumber(1, MOST_POINTS), "ConsistentHashLoadBalancer", "points");
    this.#points = points;
  }

  delegate(task: TaskInfo, context: LoadBalancerContextView): Iterable<string> {
    return task.key === undefined ? this.#keyless.delegate(task, context) : this.#ring(context).clockwise(task.key);
  }

  waits(task: TaskInfo): boolean {
    return task.key !== undefined;
  }

  #ring(context: LoadBalancerContextView): HashRing {
    let known = this.#rings.get(context);
    if (known === undefined) {
      known = { version: Number.NaN, ring: new HashRing(this.#points) };
      this.#rings.set(context, known);
    }
    if (known.version !== context.version) {
      known.ring.update(context.workers);
      known.version = context.version;
    }
    return known.ring;
  }

  /** @internal Nested calls use a new instance. A subclass travels like any other object. */
  get [traveller](): string | undefined {
    return kindOf(this);
  }

  static {
    registerTraveller(KIND, {
      take: (value) => [(value as ConsistentHashLoadBalancer).#points],
      make: () => {
        const value = new this();
        return { value, complete: ([points]) => void (value.#points = points as number) };
      },
    });
  }
}

/** Outside the class, because the build would rename the class if it named itself. */
function kindOf(balancer: object): string | undefined {
  return balancer.constructor === ConsistentHashLoadBalancer ? KIND : undefined;
}
