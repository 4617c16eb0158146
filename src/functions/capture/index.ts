export { noteMembers } from "./class-members.ts";
export { dismantle, type TakenApart, takeApart } from "./dismantle.ts";
export { privatesOf, restorePrivates } from "./private-state.ts";
export { Borrowed, referenceOf, universalReference } from "./references.ts";
export { refuseSymbol } from "./refuse-symbol.ts";
export { type Stability, stability } from "./stability.ts";
export { writtenName } from "./written-name.ts";
