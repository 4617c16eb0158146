export { countedFunctions } from "./capture-budget.ts";
export { noteMembers } from "./class-members.ts";
export { noteConstructor } from "./describe-function.ts";
export { type DismantledWithReason, dismantle, dismantleWithReason, foresee } from "./dismantle.ts";
export { type KeptPlace, keptObjectAt, keptPlaceOf } from "./kept-objects.ts";
export { hurryAccessors } from "./live-scopes.ts";
export { constructReturning, privatesOf, restorePrivates } from "./private-state.ts";
export {
  Borrowed,
  byReference,
  notePrototype,
  referenceOf,
  refuseSymbol,
  SharedExport,
  universalReference,
} from "./references.ts";
export { makingOf, ownNameCalled, writtenName } from "./source-notes.ts";
export { functionState, type Stability, stability } from "./stability.ts";
export { mayGetWeakState } from "./weak-state.ts";
