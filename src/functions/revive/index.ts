export { assemble, findKnown } from "./assemble.ts";
export { acceptDependency, findDependency, hasDependency, ModuleUnavailable } from "./code-store.ts";
export { promptVersion } from "./prompt-version.ts";
