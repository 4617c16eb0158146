export { Connector } from "./connector.ts";
export { DepartedWorkers } from "./departed-workers.ts";
export { enlistBalancer } from "./encode-balancer.ts";
export { Member, type MemberLink, type MemberSession } from "./member.ts";
export { Membership } from "./membership.ts";
export { ReturningWorkers } from "./returning-workers.ts";
export { type EncodedBalancer, Roster, RosterDiscovery, type RosterNews, readRosterNews } from "./roster.ts";
