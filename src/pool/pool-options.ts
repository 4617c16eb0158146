import type { DispatchingLoadBalancerLike, LoadBalancerLike } from "../balancing/index.ts";
import { checkOptions, must } from "../checks/index.ts";
import { checkDiscoveryUrl, type DiscoveryLike, type Factory, type WorkerFilter } from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";
import { availableCores } from "../host/index.ts";
import { checkLease, SHARED_CHECKS } from "../proxy/index.ts";
import type { CredentialsLike } from "../security/index.ts";
import type { CallerLimits } from "../wire/index.ts";
import { checkWorkerOptions, type WorkerFactory, type WorkerOptions } from "../worker/index.ts";

/** How a pool is made. With neither `size` nor `discovery` it spawns a worker for each core that it may use. */
export interface PoolOptions {
  /**
   * Workers to spawn. Default: one for each core that the process may use, within the CPU quota of its container; none
   * with a `discovery`.
   */
  readonly size?: number;
  /**
   * Tags of the spawned workers. Of discovered workers, only those with one of these tags are used. Default: none, all
   * are used.
   */
  readonly tags?: readonly string[];
  /** Where workers are announced and found: a discovery, or its URL, such as `"lan:render"`. Default: a private place for this pool. */
  readonly discovery?: Factory<DiscoveryLike> | string;
  /** Decides which worker gets a task, or dispatches tasks itself. Default: a `LeastLoadedLoadBalancer`. */
  readonly loadBalancer?: Factory<LoadBalancerLike | DispatchingLoadBalancerLike>;
  /** Makes the workers that are spawned. Default: a `ResilientWorker`, so that a crash does not shrink the pool. */
  readonly worker?: WorkerFactory;
  /** Options of the workers that are spawned. */
  readonly workerOptions?: WorkerOptions;
  /**
   * Used by the workers that are spawned, unless `workerOptions` has others, and to connect to workers: with
   * credentials only to workers with TLS, without them only to workers without TLS. Default: none.
   */
  readonly credentials?: CredentialsLike;
  /**
   * How much memory of this process a worker may use through one connection. If several pools share a connection, the
   * first one decides. Default: see `CallerLimits`. The limits of callers at the spawned workers are in
   * `workerOptions`.
   */
  readonly limits?: CallerLimits;
  /** Most discovered workers used beyond those spawned. Default: no limit. */
  readonly lease?: number;
  /** Which of the workers found are used. Default: all. */
  readonly filter?: WorkerFilter;
  /** Whether connections are made at the first call. Default: true. */
  readonly lazy?: boolean;
  /** Workers to wait for before `start` resolves. Default: 1. */
  readonly quorum?: number;
  /** How long to wait for them, in milliseconds. Default: 60,000. */
  readonly quorumTimeout?: number;
  /** Most calls that wait for room at a worker before `PoolSaturated`. Default: no limit. */
  readonly maxPending?: number;
  /** `"data"`: see `RoutineOptions.results`, for all calls. Default: functions and instances of any class are accepted. */
  readonly results?: "data";
}

const CHECKS = {
  size: must.wholeNumber(0),
  tags: must.texts,
  worker: must.callable("a function that makes a worker"),
  workerOptions: must.object,
  ...SHARED_CHECKS,
};

/** Throws `InvalidArgument` for an option that is unknown or of the wrong kind, and for a pool that could never start. */
export function checkPoolOptions(options: unknown): asserts options is PoolOptions {
  checkOptions(options, CHECKS, "WorkerPool.start()");
  const { size, discovery, quorum = 1, lease, workerOptions, credentials } = options as PoolOptions;
  if (workerOptions !== undefined) checkWorkerOptions(workerOptions, "WorkerPool.start() workerOptions");
  if (workerOptions?.credentials !== undefined && credentials === undefined) {
    throw new InvalidArgument(
      "WorkerPool.start(): workerOptions has credentials and the pool has none, so that it could not use its own " +
        "workers: give the credentials to the pool, and its workers use them too",
    );
  }
  if (typeof discovery === "string") checkDiscoveryUrl(discovery);
  if (discovery !== undefined) {
    checkLease("WorkerPool.start()", quorum, lease, size ?? 0);
    return;
  }
  if (lease !== undefined) {
    throw new InvalidArgument(
      "WorkerPool.start(): lease bounds the workers that a discovery finds, and there is no discovery: give one, or leave " +
        "lease out",
    );
  }
  if (size === 0) {
    throw new InvalidArgument("a pool of size 0 has no workers: give it a size of 1 or more, or a discovery");
  }
  const most = size ?? availableCores();
  if (quorum > most) {
    throw new InvalidArgument(
      `WorkerPool.start(): a quorum of ${quorum} cannot be reached by a pool of ${most} workers that finds no others: ` +
        `give a quorum of ${most} or less, a size of ${quorum}, or a discovery`,
    );
  }
}
