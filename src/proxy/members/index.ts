export { Connector } from "./connector.ts";
export { type CallCounts, callsOf, DepartedWorkers } from "./departed-workers.ts";
export { KeepAlive } from "./keep-alive.ts";
export type { Member } from "./member.ts";
export { Membership } from "./membership.ts";
export { discoveryFor, makeScope, type PoolAddress, readScope } from "./pool-address.ts";
export { ReturningWorkers } from "./returning-workers.ts";
