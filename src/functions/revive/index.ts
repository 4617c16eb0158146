export { assemble, findKnown } from "./assemble.ts";
export { acceptDependency, hasDependency, ModuleUnavailable } from "./code-store.ts";
