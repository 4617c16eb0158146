export { parseFunctionText } from "./function-text.ts";
export { someWhenLoaded } from "./load-time-code.ts";
export { isModuleLevel, moduleBody } from "./module-level.ts";
export { parseSource } from "./parse-source.ts";
export { isPromptFunction } from "./prompt-function.ts";
export { quietConstruction, type Surroundings } from "./quiet-construction.ts";
export { usesOwnReceiver } from "./receiver-use.ts";
export type { Binding, CodeUnit, ContextualSyntax, Reference, Scope } from "./scope.ts";
export { analyzeScopes, type ScopeAnalysis } from "./scope-analysis.ts";
export {
  type ClassNode,
  childrenOf,
  isAnonymousDefinition,
  isClassNode,
  isFunctionNode,
  isWithin,
  nodesAround,
  type Range,
} from "./syntax-tree.ts";
