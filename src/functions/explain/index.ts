export { type ExplainOptions, notesOn } from "./explain.ts";
export type { ExplainedPart, Explanation, Refusal } from "./explanation.ts";
export { shipping } from "./shipping.ts";
export { registerValueScale, type Weighed, type WeighOptions } from "./value-scale.ts";
