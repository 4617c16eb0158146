export { usesAltered } from "./altered-functions.ts";
export { cellOf, globalCell, moduleCell } from "./binding-cells.ts";
export { type CapturedVariable, captureVariables } from "./captured-variables.ts";
export { factsOf, hasFacts, selfContainedSite, usesReceiver } from "./function-facts.ts";
export { givesGenerator } from "./lowered-generators.ts";
export { constructQuietly, isQuietClass, type PrivateWriter, privateWriterOf } from "./quiet-classes.ts";
export { onlyReads } from "./read-only-use.ts";
export { isTied } from "./tied-functions.ts";
export { collectionAt, type Findings, findCollections, type Way, type Weak } from "./weak-search.ts";
