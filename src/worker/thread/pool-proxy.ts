/** What calls of tasks need. A task thread loads it with the first of them: scripts/build.mjs. */

import type { LoadBalancerLike } from "../../balancing/index.ts";
import { type Roster, RosterDiscovery, WorkerProxy } from "../../proxy/index.ts";
import { WorkerCredentials, WorkerCredentialsProvider } from "../../security/index.ts";
import type { ProcessCredentials } from "../shared/index.ts";

/** The worker's own credentials, as a provider for its proxies. */
export class OwnCredentials {
  #current: WorkerCredentials | undefined;
  #provider: WorkerCredentialsProvider | undefined;

  /** Undefined while there are no credentials. */
  get provider(): WorkerCredentialsProvider | undefined {
    return this.#provider;
  }

  replace({ ca, key, cert, mutual, identity }: ProcessCredentials): void {
    const current = new WorkerCredentials({
      ca,
      mutual,
      ...(key === undefined ? {} : { key }),
      ...(cert === undefined ? {} : { cert }),
    });
    this.#current = current;
    this.#provider ??= new WorkerCredentialsProvider(
      () => this.#current ?? current,
      identity === undefined ? {} : { identity },
    );
  }
}

/** The credentials of a worker, which are to be set. */
export function createOwnCredentials(): OwnCredentials {
  return new OwnCredentials();
}

/** A proxy to the members of a pool. `balancer`: makes the balancer of the pool; undefined for the default one. */
export function openPoolProxy(
  roster: Roster,
  credentials: OwnCredentials | undefined,
  balancer: (() => Promise<unknown>) | undefined,
): WorkerProxy {
  const provider = credentials?.provider;
  return new WorkerProxy({
    discovery: new RosterDiscovery(roster),
    maxPending: roster.maxPending,
    ...(provider === undefined ? {} : { credentials: provider }),
    // The proxy checks the value.
    ...(balancer === undefined ? {} : { loadBalancer: balancer as () => Promise<LoadBalancerLike> }),
  });
}
