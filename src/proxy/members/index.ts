export { Connector } from "./connector.ts";
export { DepartedWorkers } from "./departed-workers.ts";
export { enlistBalancer } from "./encode-balancer.ts";
export { Member, type MemberLink, type MemberSession } from "./member.ts";
export { Membership } from "./membership.ts";
export { ReturningWorkers } from "./returning-workers.ts";
export { Roster, RosterDiscovery, readRosterNews } from "./roster.ts";
