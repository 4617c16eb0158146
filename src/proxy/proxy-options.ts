import type { DispatchingLoadBalancerLike, LoadBalancerLike } from "../balancing/index.ts";
import { type Check, checkOptions, must } from "../checks/index.ts";
import {
  checkDiscoveryUrl,
  type DiscoveryLike,
  type Factory,
  type WorkerFilter,
  type WorkerMetadata,
} from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";
import { type CredentialsLike, credentialsProblem } from "../security/index.ts";
import type { CallerLimits } from "../wire/index.ts";

/** How a proxy finds and uses workers. Exactly one of `poolUri`, `namespace`, `discovery` and `workers` is given. */
export interface WorkerProxyOptions {
  /** The `uri` of a pool, or any discovery URL. With `?tag=gpu` only workers with one of the tags are used. */
  readonly poolUri?: string;
  /** The namespace of a `LocalDiscovery`. */
  readonly namespace?: string;
  /** Where workers are found: a discovery, or its URL, such as `"lan:render"`. */
  readonly discovery?: Factory<DiscoveryLike> | string;
  /** A fixed list: metadata, or addresses such as `host:port`. */
  readonly workers?: readonly (WorkerMetadata | string)[];
  /** Decides which worker gets a task, or dispatches tasks itself. Default: a `LeastLoadedLoadBalancer`. */
  readonly loadBalancer?: Factory<LoadBalancerLike | DispatchingLoadBalancerLike>;
  /** Most workers used. Default: no limit. */
  readonly lease?: number;
  /** Which of the workers found are used. Default: all. */
  readonly filter?: WorkerFilter;
  /** Whether connections are made at the first call. Default: true. */
  readonly lazy?: boolean;
  /** Workers to wait for before the first call. Default: 1. */
  readonly quorum?: number;
  /** How long to wait for them, in milliseconds. Default: 60,000. */
  readonly quorumTimeout?: number;
  /** Most calls that wait for room. Default: no limit. */
  readonly maxPending?: number;
  /** `"data"`: see `RoutineOptions.results`, for all calls. Default: functions and instances of any class are accepted. */
  readonly results?: "data";
  /** With credentials a proxy uses only workers with TLS, without them only workers without TLS. Default: none. */
  readonly credentials?: CredentialsLike;
  /**
   * How much memory of this process a worker may use through one connection. If several pools share a connection, the
   * first one decides. Default: see `CallerLimits`.
   */
  readonly limits?: CallerLimits;
}

/** The check of each limit of a caller. */
export const CALLER_LIMIT_CHECKS: Readonly<Record<keyof CallerLimits, Check>> = {
  maxUnfinishedBytes: must.limit(1),
  maxUnfinishedPayloads: must.limit(1),
  maxAnnouncements: must.limit(1),
  maxAnnouncedBytes: must.limit(1),
};

/** The check of each option that pools and proxies share. */
export const SHARED_CHECKS = {
  discovery: must.anything,
  loadBalancer: must.anything,
  lease: must.limit(0),
  filter: must.callable(),
  lazy: must.flag,
  quorum: must.limit(0),
  quorumTimeout: must.duration,
  maxPending: must.limit(0),
  results: must.oneOf("data"),
  credentials: credentialsProblem,
  limits: must.object,
};

const CHECKS = {
  poolUri: (value: unknown) => (typeof value === "string" ? undefined : "the uri of a pool, or a discovery URL"),
  namespace: must.filledText,
  workers: (value: unknown) => (Array.isArray(value) ? undefined : "an array of workers"),
  ...SHARED_CHECKS,
};

/** Throws `InvalidArgument` for options that are wrong or do not go together. `own`: workers that the pool itself starts. */
export function checkProxyOptions(options: WorkerProxyOptions, own: number): void {
  checkOptions(options, CHECKS, "WorkerProxy");
  if (options.limits !== undefined) checkOptions(options.limits, CALLER_LIMIT_CHECKS, "WorkerProxy: limits");
  const sources = (["poolUri", "namespace", "discovery", "workers"] as const).filter(
    (key) => options[key] !== undefined,
  );
  if (sources.length !== 1) {
    const found = sources.length === 0 ? "none" : sources.join(" and ");
    throw new InvalidArgument(
      `a WorkerProxy takes exactly one of poolUri, namespace, discovery and workers, not ${found}`,
    );
  }
  const { poolUri, discovery, workers, quorum = 1, lease } = options;
  for (const url of [poolUri, discovery]) if (typeof url === "string") checkDiscoveryUrl(url);
  if (workers !== undefined && quorum > workers.length) {
    throw new InvalidArgument(
      `WorkerProxy: a quorum of ${quorum} cannot be reached with a list of ${workers.length} workers: ` +
        "list more of them, or give a smaller quorum",
    );
  }
  checkLease("WorkerProxy", quorum, lease, own);
}

/** Throws `InvalidArgument` for a quorum that cannot be reached with a `lease` beyond `own` workers. */
export function checkLease(what: string, quorum: number, lease: number | undefined, own: number): void {
  if (lease === undefined || quorum <= own + lease) return;
  const most = own === 0 ? `a lease of ${lease}` : `a size of ${own} and a lease of ${lease}`;
  throw new InvalidArgument(
    `${what}: a quorum of ${quorum} cannot be reached with ${most}: give a smaller quorum, or a lease of ${quorum - own}`,
  );
}
