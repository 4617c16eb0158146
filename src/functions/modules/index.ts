export { builtinAt, builtinExports, builtinPlaceOf } from "./builtin-modules.ts";
export { bundledOrigin } from "./bundled-origin.ts";
export {
  isConstantImport,
  isReader,
  type LiveVariable,
  liveImport,
  type ModuleReference,
  namespaceBehind,
  readBy,
} from "./export-places.ts";
export { shapeOf } from "./export-shape.ts";
export { openStandIn, type StandInSource, standInSource } from "./export-stand-ins.ts";
export { importFrom } from "./import-from.ts";
export { isAsLoaded } from "./loaded-file.ts";
export { keepsPrivatesApart, moduleFactsOf } from "./module-facts.ts";
export { moduleOf, noteLoaded, titleOf, titleOfPath } from "./module-names.ts";
export {
  exportFrom,
  exportOf,
  importedAs,
  isWholeModule,
  noteExport,
  noteImport,
  noteNamespaces,
  noteRequired,
  noteShipped,
  requiredExport,
  requiredModule,
  shippedExport,
} from "./module-references.ts";
export {
  indexExports,
  indexImports,
  indexImportsOf,
  indexPrototypesOf,
  isByInstance,
  isOfPackage,
  memberOf,
  stepFrom,
} from "./package-index.ts";
export { importResolve, resolveUserModule } from "./resolve-module.ts";
export {
  configureEntry,
  configureRoot,
  entryPath,
  fromRootRelative,
  importerOf,
  isInPackage,
  noteForeignFile,
  pathOf,
  projectRoot,
  rootRelativeFile,
  toRootRelative,
  urlInRoot,
} from "./root.ts";
export { isTypeScript, prepareForTypeScript } from "./typescript-loader.ts";
export { isAtTopLevel, isMadeLater, isReplaced, leadsToWeak } from "./weak-files.ts";
