export {
  dismantle,
  privatesOf,
  referenceOf,
  refuseSymbol,
  restorePrivates,
  type Stability,
  stability,
  writtenName,
} from "./capture/index.ts";
export { beginCapture, endCapture, type PromiseView, viewPromise } from "./engine/index.ts";
export {
  type ExplainedPart,
  type ExplainOptions,
  type Explanation,
  type Refusal,
  registerValueScale,
  shipping,
  type ValueScale,
  type Weighed,
  type WeighOptions,
} from "./explain/index.ts";
export {
  type BundledOrigin,
  bundledOrigin,
  configureEntry,
  configureRoot,
  importFrom,
  indexImports,
  isTypeScript,
  pathOf,
  prepareForTypeScript,
  projectRoot,
} from "./modules/index.ts";
export { acceptDependency, assemble, findKnown, hasDependency, ModuleUnavailable } from "./revive/index.ts";
export {
  type Assembled,
  Cell,
  type Dependency,
  type Dismantled,
  IS_BUNDLED,
  isClass,
  type ModulePattern,
  OWN_URL,
  type PlainData,
  PortableIds,
  type PrivateState,
  processId,
  registerRuntimeExports,
  registerWrapping,
  runtimeNameOf,
  ShippingError,
  type ShippingPolicy,
} from "./shipment/index.ts";
