export { discoveryFor, makeScope, POOL_NAMESPACE, type PoolAddress, readScope } from "./members/pool-address.ts";
export { POOL_SCHEME, SHARED_CHECKS, type WorkerProxyOptions } from "./proxy-options.ts";
export { WorkerConnection } from "./worker-connection.ts";
export {
  type BroadcastResult,
  type MemberStats,
  type PoolStats,
  WorkerProxy,
  type WorkerStats,
} from "./worker-proxy.ts";
