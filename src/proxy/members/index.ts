export { Connector } from "./connector.ts";
export { DepartedWorkers } from "./departed-workers.ts";
export { Member, type MemberLink, type MemberSession } from "./member.ts";
export { Membership } from "./membership.ts";
export { discoveryFor, makePoolReference, type PoolAddress, readPoolAddress } from "./pool-address.ts";
export { ReturningWorkers } from "./returning-workers.ts";
