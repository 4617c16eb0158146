export { assemble } from "./assemble.ts";
export { type BundledOrigin, bundledOrigin } from "./bundled-origin.ts";
export { Cell } from "./cell.ts";
export { acceptDependency, hasDependency, ModuleUnavailable } from "./code-store.ts";
export { dismantle } from "./dismantle.ts";
export type { ExplainOptions } from "./explain.ts";
export {
  registerValueScale,
  type ValueScale,
  type Weighed,
  type WeighOptions,
} from "./explain-ports.ts";
export type { ExplainedPart, Explanation, Refusal } from "./explanation.ts";
export { IdentityTable, processId } from "./identity-table.ts";
export { importFrom } from "./import-from.ts";
export { privatesOf, restorePrivates } from "./private-state.ts";
export { referenceOf } from "./references.ts";
export { refuseSymbol } from "./refuse-symbol.ts";
export { configureEntry, configureRoot, projectRoot } from "./root.ts";
export { registerRuntimeExports, runtimeNameOf } from "./runtime-exports.ts";
export type { Assembled, Dependency, Dismantled, PlainData, PrivateState } from "./shipment.ts";
export { ShippingError } from "./shipment.ts";
export { shipping } from "./shipping.ts";
export type { ShippingPolicy } from "./shipping-policy.ts";
export { isClass } from "./source-text.ts";
export { type Stability, stability } from "./stability.ts";
export { isTypeScript, prepareForTypeScript } from "./typescript-loader.ts";
export { registerWrapping } from "./wrapping.ts";
export { writtenName } from "./written-name.ts";
