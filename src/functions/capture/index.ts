export { countedFunctions } from "./capture-budget.ts";
export { type DismantledWithReason, dismantle, dismantleWithReason, foresee } from "./dismantle.ts";
export { rulesVersion, watchExamined, watchFunction } from "./function-watch.ts";
export { type KeptPlace, keptEntryAt, keptObjectAt, keptPlaceOf } from "./kept-objects.ts";
export { hurryAccessors } from "./live-scopes.ts";
export { moduleVariable } from "./module-use.ts";
export { constructReturning, privatesOf, restorePrivates } from "./private-state.ts";
export {
  Borrowed,
  notePrototype,
  referenceOf,
  refuseSymbol,
  SharedExport,
  universalReference,
} from "./references.ts";
export { makingOf, ownNameCalled, secondInstanceIn, writtenName } from "./source-notes.ts";
export { functionState, type Stability, stability } from "./stability.ts";
export { watchWeakState } from "./weak-state.ts";
