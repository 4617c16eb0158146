import {
  type DispatchingLoadBalancerLike,
  isDispatchingLoadBalancer,
  isLoadBalancer,
  type LoadBalancerLike,
} from "../balancing/index.ts";
import { describeValue } from "../checks/index.ts";
import {
  type DiscoveryLike,
  LocalDiscovery,
  type Resolved,
  resolveDiscovery,
  resolveFactory,
  StaticDiscovery,
} from "../discovery/index.ts";
import { InvalidArgument, PoolClosed } from "../errors.ts";
import { providerOf } from "../security/index.ts";
import type { WorkerProxyOptions } from "./proxy-options.ts";

const DISPOSAL_LIMIT_MS = 5000;

/** The discovery and the balancer that a proxy works with. */
export interface FoundParts {
  readonly discovery: DiscoveryLike;
  readonly balancer: LoadBalancerLike | DispatchingLoadBalancerLike | undefined;
}

/** The discovery and the balancer of a proxy: made or awaited as its options say, and disposed of with it. */
export class ProxyParts {
  readonly #options: WorkerProxyOptions;
  /** The workers that were given as a list. */
  readonly #listed: StaticDiscovery | undefined;
  #discovery: Resolved<DiscoveryLike> | undefined;
  #balancer: Resolved<LoadBalancerLike | DispatchingLoadBalancerLike> | undefined;
  #finding: Promise<FoundParts> | undefined;
  #isClosed = false;

  constructor(options: WorkerProxyOptions) {
    this.#options = options;
    // An address does not say whether the worker uses TLS: the credentials of this proxy decide, and the handshake.
    const listed = options.credentials === undefined ? {} : { credentials: providerOf(options.credentials) };
    this.#listed = options.workers === undefined ? undefined : new StaticDiscovery([...options.workers], listed);
  }

  /** The problem that the discovery reports. */
  get problem(): string | undefined {
    return this.#discovery?.value.problem;
  }

  /** Resolves with both when they are ready. Rejects with `InvalidArgument` for a value that is not a balancer. */
  find(): Promise<FoundParts> {
    this.#finding ??= this.#find();
    return this.#finding;
  }

  /** From now on, a part that becomes ready is disposed of at once. */
  close(): void {
    this.#isClosed = true;
  }

  /** Rejects at the end with the error of a part that could not be disposed of. */
  async dispose(): Promise<void> {
    this.close();
    // A discovery or balancer that is still being made is disposed of as soon as it is ready.
    await bounded(this.#finding?.then(undefined, () => undefined));
    const disposals = await Promise.allSettled([
      bounded(this.#balancer?.dispose()),
      bounded(this.#discovery?.dispose()),
    ]);
    for (const disposal of disposals) if (disposal.status === "rejected") throw disposal.reason;
  }

  async #find(): Promise<FoundParts> {
    const { loadBalancer } = this.#options;
    // Both belong to the proxy, which disposes of each even if the other is wrong.
    const [balancer, discovery] = await Promise.allSettled([
      loadBalancer === undefined
        ? undefined
        : resolveFactory(loadBalancer).then((found) => this.#own((this.#balancer = found))),
      this.#findDiscovery().then((found) => this.#own((this.#discovery = found))),
    ]);
    if (balancer.status === "rejected") throw balancer.reason;
    if (discovery.status === "rejected") throw discovery.reason;
    if (balancer.value !== undefined) refuseUnlessBalancer(balancer.value);
    return { discovery: discovery.value, balancer: balancer.value };
  }

  async #findDiscovery(): Promise<Resolved<DiscoveryLike>> {
    const { poolUri, namespace, discovery, credentials } = this.#options;
    if (discovery !== undefined) return await resolveDiscovery(discovery, { credentials });
    if (this.#listed !== undefined) return await resolveDiscovery(this.#listed);
    if (namespace !== undefined) return await resolveDiscovery(new LocalDiscovery(namespace));
    return await resolveDiscovery(poolUri ?? "", { credentials });
  }

  /** Returns the value that was found. Disposes of a value that is ready only after the proxy was closed. */
  async #own<T>(found: Resolved<T>): Promise<T> {
    if (!this.#isClosed) return found.value;
    await found.dispose();
    throw closedError();
  }
}

/** The error of calls that are made after the proxy was closed. */
export function closedError(): PoolClosed {
  return new PoolClosed("the pool is closed: calls must be made, and awaited, before it is stopped");
}

function refuseUnlessBalancer(value: LoadBalancerLike | DispatchingLoadBalancerLike): void {
  if (isLoadBalancer(value) || isDispatchingLoadBalancer(value)) return;
  throw new InvalidArgument(
    `loadBalancer must have a method delegate(task, context) or dispatch(task, options), ` +
      `and ${describeValue(value)} has neither`,
  );
}

/** Waits until a user's object is disposed of, but not forever. */
async function bounded(disposal: Promise<unknown> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, DISPOSAL_LIMIT_MS);
  });
  try {
    await Promise.race([disposal, limit]);
  } finally {
    clearTimeout(timer);
  }
}
