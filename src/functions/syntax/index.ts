export type { CodeUnit } from "./code-unit.ts";
export { hasCallWhenLoaded } from "./load-time-calls.ts";
export { parseSource } from "./parse-source.ts";
export type { Binding, ContextualSyntax, Reference, Scope } from "./scope.ts";
export { analyzeScopes, type ScopeAnalysis } from "./scope-analysis.ts";
export { type ClassNode, childrenOf, isAnonymousDefinition, isClassNode, isFunctionNode } from "./syntax-tree.ts";
