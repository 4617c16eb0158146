export { explainRefusal, locateRefusal } from "./explain-refusal.ts";
export { refuseHiddenState } from "./refused-kinds.ts";
