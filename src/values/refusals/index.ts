export { explainRefusal, locateRefusal, omitRefused } from "./explain-refusal.ts";
export { refuseHiddenState } from "./refused-kinds.ts";
