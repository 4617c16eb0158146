export { cellOf, globalCell, moduleCell } from "./binding-cells.ts";
export { type CapturedVariable, captureVariables } from "./captured-variables.ts";
export { onlyReads } from "./read-only-use.ts";
