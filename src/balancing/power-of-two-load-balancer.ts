import { checkOption, describeValue, must } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { registerTraveller, traveller } from "../values/index.ts";
import type { LoadBalancerContextView, LoadBalancerLike, TaskInfo } from "./load-balancer.ts";

const KIND = "power-of-two-load-balancer";

/** How a `PowerOfTwoLoadBalancer` is made. */
export interface PowerOfTwoOptions {
  /** Returns numbers from 0 to 1, without 1. Default: `Math.random`. */
  readonly random?: () => number;
}

interface Candidates {
  readonly version: number;
  readonly uids: readonly string[];
}

/**
 * Each task goes to the less loaded of two random workers. That is nearly as even as the least loaded of all, even if
 * many independent callers share the workers. Takes constant time for each task, and lists the workers once after each
 * change.
 */
export class PowerOfTwoLoadBalancer implements LoadBalancerLike {
  #random: () => number;
  readonly #candidates = new WeakMap<LoadBalancerContextView, Candidates>();

  /** Throws `InvalidArgument` unless `random` is a function. */
  constructor(options: PowerOfTwoOptions = {}) {
    const { random = Math.random } = options;
    checkOption(random, must.callable(), "PowerOfTwoLoadBalancer", "random");
    this.#random = random;
  }

  *delegate(_task: TaskInfo, context: LoadBalancerContextView): Iterable<string> {
    const uids = this.#list(context);
    const count = uids.length;
    if (count <= 1) {
      yield* uids;
      return;
    }
    const one = this.#draw(count);
    const drawn = this.#draw(count - 1);
    // The second one is drawn from the workers without the first.
    const other = drawn >= one ? drawn + 1 : drawn;
    const [a, b] = [uids[one] as string, uids[other] as string];
    const swap = context.load(b) < context.load(a);
    yield swap ? b : a;
    yield swap ? a : b;
    for (let i = 1; i < count; i++) {
      const index = (one + i) % count;
      if (index !== other) yield uids[index] as string;
    }
  }

  #list(context: LoadBalancerContextView): readonly string[] {
    const known = this.#candidates.get(context);
    if (known?.version === context.version) return known.uids;
    const uids = [...context.workers.keys()];
    this.#candidates.set(context, { version: context.version, uids });
    return uids;
  }

  #draw(count: number): number {
    const number = this.#random();
    if (number >= 0 && number < 1) return Math.floor(number * count);
    throw new InvalidArgument(
      `the random function of the PowerOfTwoLoadBalancer returned ${describeValue(number)}: ` +
        "it must return numbers from 0 to 1, without 1",
    );
  }

  /** @internal Nested calls use a new instance. A subclass travels like any other object. */
  get [traveller](): string | undefined {
    return kindOf(this);
  }

  static {
    registerTraveller(KIND, {
      take: (value) => [(value as PowerOfTwoLoadBalancer).#random],
      make: () => {
        const value = new this();
        return { value, complete: ([random]) => void (value.#random = random as () => number) };
      },
    });
  }
}

/** Outside the class, because the build would rename the class if it named itself. */
function kindOf(balancer: object): string | undefined {
  return balancer.constructor === PowerOfTwoLoadBalancer ? KIND : undefined;
}
