export { noteMembers } from "./class-members.ts";
export { type DismantledWithReason, dismantle, dismantleWithReason } from "./dismantle.ts";
export { privatesOf, restorePrivates } from "./private-state.ts";
export { Borrowed, referenceOf, refuseSymbol, SharedExport, universalReference } from "./references.ts";
export { type Stability, stability } from "./stability.ts";
export { writtenName } from "./written-name.ts";
