export { explainRefusal, locateRefusal, omitRefused, refusedField } from "./explain-refusal.ts";
export { refuseHiddenState } from "./refused-kinds.ts";
