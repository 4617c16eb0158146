export { ambientLetter, isRevivedSlot } from "./ambient-names.ts";
export {
  type EmissionPlan,
  isLeft,
  isOwnName,
  isReassigned,
  isUsedInWith,
  reassignmentOf,
  staysUndefined,
  usesOuterThis,
} from "./emission-plan.ts";
export { type ComputedMember, computedMembers } from "./emit-class.ts";
export { emitCode } from "./emit-code.ts";
export { innerPlan, innerSites, privateOwner } from "./private-closures.ts";
export { slotCode } from "./slot-code.ts";
