export { Roster, RosterDiscovery, readRosterNews } from "./members/index.ts";
export { checkLease, SHARED_CHECKS, type WorkerProxyOptions } from "./proxy-options.ts";
export { WorkerConnection, type WorkerConnectionOptions } from "./worker-connection.ts";
export {
  type BroadcastResult,
  type MemberStats,
  type PoolStats,
  WorkerProxy,
  type WorkerStats,
} from "./worker-proxy.ts";
