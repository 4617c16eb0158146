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
export { isByInstance, stepFrom } from "./export-steps.ts";
export { heldAt, heldBeside, heldInstance, memberOf } from "./held-instances.ts";
export { importFrom } from "./import-from.ts";
export { noteLoaded, noteShipped, shippedExport } from "./known-names.ts";
export { isAsLoaded } from "./loaded-file.ts";
export { keepsPrivatesApart, moduleFactsOf } from "./module-facts.ts";
export { moduleOf, titleOf, titleOfPath } from "./module-names.ts";
export {
  exportFrom,
  exportOf,
  importedAs,
  importsOf,
  isWholeModule,
  noteExport,
  noteImport,
  noteNamespaces,
  noteRequired,
  requiredExport,
  requiredModule,
} from "./module-references.ts";
export { digestOf, hasOnlyFields } from "./object-digest.ts";
export {
  indexAsPrototype,
  indexExports,
  indexImports,
  indexImportsOf,
  indexPrototypesOf,
  isIndexedPrototype,
  isOfPackage,
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
