import {
  type DispatchingLoadBalancerLike,
  LeastLoadedLoadBalancer,
  type LoadBalancerLike,
} from "../../balancing/index.ts";
import { describeValue, messageOf } from "../../checks/index.ts";
import { functionPort, ValueEncoder } from "../../values/index.ts";
import type { Roster } from "./roster.ts";

/**
 * A receiver that can load no module. A balancer is sent with all of its code, because the receiver cannot ask for
 * more.
 */
class NoModules extends Map<string, string> {
  override has(): boolean {
    return true;
  }

  override get(): string {
    return "a balancer brings its code along";
  }
}

const portable = new ValueEncoder(functionPort({ unavailable: new NoModules() }));
const tied = new ValueEncoder(functionPort());

/**
 * Puts the balancer of a pool into its roster. If it cannot travel, calls made inside tasks fail with the reason. Other
 * calls are not affected.
 */
export function enlistBalancer(roster: Roster, balancer: LoadBalancerLike | DispatchingLoadBalancerLike): void {
  if (balancer.constructor === LeastLoadedLoadBalancer) return;
  try {
    roster.balancer = encodeWith(portable, balancer);
  } catch {
    // The code of some packages needs their files. Workers that have the package can load it from there.
    try {
      roster.balancer = encodeWith(tied, balancer);
    } catch (error) {
      const reason = messageOf(error);
      roster.refusal =
        `calls made inside tasks use the load balancer of their pool, ${describeValue(balancer)}, ` +
        `and it cannot travel: ${reason}`;
    }
  }
}

function encodeWith(encoder: ValueEncoder, balancer: unknown): Roster["balancer"] {
  const bytes = Uint8Array.from(encoder.encode(balancer, "loadBalancer"));
  return { bytes, dependencies: encoder.dependencies };
}
