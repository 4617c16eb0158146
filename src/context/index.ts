export { decodeContext, encodeContext } from "./context-codec.ts";
export { ContextVar, type ContextVarOptions } from "./context-var.ts";
export { type AmbientOptions, runtimeContext } from "./runtime-context.ts";
