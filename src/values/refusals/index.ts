export { explainRefusal, locateRefusal, omitRefused, refusedField } from "./explain-refusal.ts";
export { KeptRefusals } from "./kept-refusals.ts";
export { refuseHiddenState } from "./refused-kinds.ts";
