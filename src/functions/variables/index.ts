export { cellOf, globalCell, moduleCell } from "./binding-cells.ts";
export { type CapturedVariable, captureVariables } from "./captured-variables.ts";
export { onlyReads } from "./read-only-use.ts";
export { collectionAt, type Findings, findCollections, type Way, type Weak } from "./weak-search.ts";
