export type { ExplainOptions } from "./explain.ts";
export { registerValueScale, type ValueScale, type Weighed, type WeighOptions } from "./explain-ports.ts";
export type { ExplainedPart, Explanation, Refusal } from "./explanation.ts";
export { shipping } from "./shipping.ts";
