export { builtinAt, builtinExports, builtinPlaceOf } from "./builtin-modules.ts";
export { bundledOrigin } from "./bundled-origin.ts";
export {
  importDeclaration,
  isConstantImport,
  isWritten,
  type LiveVariable,
  liveImport,
  namespaceBehind,
} from "./export-declarations.ts";
export { isReader, type ModuleReference, readBy } from "./export-places.ts";
export { isByInstance, shapeOf, stepFrom } from "./export-shape.ts";
export { openStandIn, type StandInSource, standInSource } from "./export-stand-ins.ts";
export { heldAt, heldBeside, heldInstance, memberOf } from "./held-instances.ts";
export { importFrom } from "./import-from.ts";
export { noteLoaded, noteOpened, noteShipped, openedAs, shippedExport } from "./known-names.ts";
export { importsOfFile, keepsPrivatesApart, moduleFactsOf, textOf } from "./module-facts.ts";
export { moduleOf, requiredExports, specifierModule, titleOf, titleOfPath } from "./module-names.ts";
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
export { isPackageVariable } from "./package-variables.ts";
export { importResolve, isAsLoaded, resolveUserModule } from "./resolve-module.ts";
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
export { isTypeScript, prepareForTypeScript, prepareToRequire } from "./typescript-loader.ts";
export { isAtTopLevel, isMadeLater, isReplaced, leadsToWeak } from "./weak-files.ts";
