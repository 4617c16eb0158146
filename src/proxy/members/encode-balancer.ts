import {
  type DispatchingLoadBalancerLike,
  LeastLoadedLoadBalancer,
  type LoadBalancerLike,
} from "../../balancing/index.ts";
import { describeValue, messageOf } from "../../checks/index.ts";
import { functionPort, ValueEncoder } from "../../values/index.ts";
import type { Roster } from "./roster.ts";

/** A receiver that can load no module: it gets all code of a balancer, since it has no way to ask for more. */
class NoModules extends Map<string, string> {
  override has(): boolean {
    return true;
  }

  override get(): string {
    return "a balancer brings its code along";
  }
}

const portable = new ValueEncoder(functionPort({ unavailable: new NoModules() }));
const byReference = new ValueEncoder(functionPort());

/**
 * Puts the balancer of a pool into its roster. Calls made inside of tasks fail, with the reason, when it cannot travel;
 * other calls do not need it to.
 */
export function enlistBalancer(roster: Roster, balancer: LoadBalancerLike | DispatchingLoadBalancerLike): void {
  if (balancer.constructor === LeastLoadedLoadBalancer) return;
  try {
    roster.balancer = encodeWith(portable, balancer);
  } catch {
    // What some package's code cannot do without its files, workers that have the package can.
    try {
      roster.balancer = encodeWith(byReference, balancer);
    } catch (error) {
      const reason = messageOf(error);
      roster.refusal =
        `calls made inside of tasks use the load balancer of their pool, ${describeValue(balancer)}, ` +
        `and it cannot travel: ${reason}`;
    }
  }
}

function encodeWith(encoder: ValueEncoder, balancer: unknown): Roster["balancer"] {
  const bytes = Uint8Array.from(encoder.encode(balancer, "loadBalancer"));
  return { bytes, dependencies: encoder.dependencies };
}
