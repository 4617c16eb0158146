export { assemble } from "./revive/assemble.ts";
export { type BundledOrigin, bundledOrigin } from "./modules/bundled-origin.ts";
export { Cell } from "./shipment/cell.ts";
export { acceptDependency, hasDependency, ModuleUnavailable } from "./revive/code-store.ts";
export { dismantle } from "./capture/dismantle.ts";
export type { ExplainOptions } from "./explain/explain.ts";
export {
  registerValueScale,
  type ValueScale,
  type Weighed,
  type WeighOptions,
} from "./explain/explain-ports.ts";
export type { ExplainedPart, Explanation, Refusal } from "./explain/explanation.ts";
export { IdentityTable, processId } from "./shipment/identity-table.ts";
export { importFrom } from "./modules/import-from.ts";
export { privatesOf, restorePrivates } from "./capture/private-state.ts";
export { referenceOf } from "./capture/references.ts";
export { refuseSymbol } from "./capture/refuse-symbol.ts";
export { configureEntry, configureRoot, projectRoot } from "./modules/root.ts";
export { registerRuntimeExports, runtimeNameOf } from "./shipment/runtime-exports.ts";
export type { Assembled, Dependency, Dismantled, PlainData, PrivateState } from "./shipment/shipment.ts";
export { ShippingError } from "./shipment/shipment.ts";
export { shipping } from "./explain/shipping.ts";
export type { ShippingPolicy } from "./shipment/shipping-policy.ts";
export { isClass } from "./shipment/source-text.ts";
export { type Stability, stability } from "./capture/stability.ts";
export { isTypeScript, prepareForTypeScript } from "./modules/typescript-loader.ts";
export { registerWrapping } from "./shipment/wrapping.ts";
export { writtenName } from "./capture/written-name.ts";
