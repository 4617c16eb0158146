export { builtinAt, builtinExports, builtinPlaceOf } from "./builtin-modules.ts";
export { type BundledOrigin, bundledOrigin } from "./bundled-origin.ts";
export { isReplaceableImport } from "./export-places.ts";
export { importFrom } from "./import-from.ts";
export { isAsLoaded } from "./loaded-file.ts";
export { moduleFactsOf, resolveUserModule } from "./module-facts.ts";
export {
  exportOf,
  importedAs,
  type ModuleReference,
  noteImport,
  noteLoaded,
  noteShipped,
  requiredExport,
  shippedExport,
} from "./module-references.ts";
export {
  configureEntry,
  configureRoot,
  fromRootRelative,
  noteForeignFile,
  pathOf,
  projectRoot,
  rootRelativeFile,
  toRootRelative,
  urlInRoot,
} from "./root.ts";
export { isTypeScript, prepareForTypeScript } from "./typescript-loader.ts";
