import { Script, constants } from "node:vm";

type Importer = (specifier: string, options?: object) => Promise<object>;

const importers = new Map<string, Importer>();
const MAX_IMPORTERS = 1024;

function isImporter(value: unknown): value is Importer {
  return typeof value === "function";
}

function importerAt(url: string): Importer {
  const known = importers.get(url);
  if (known !== undefined) return known;
  // A script's `import()` resolves from the script's own file name.
  const script = new Script("(specifier, options) => import(specifier, options)", {
    filename: url,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const importer: unknown = script.runInThisContext();
  if (!isImporter(importer)) throw new TypeError("import() is not available");
  importers.set(url, importer);
  if (importers.size > MAX_IMPORTERS) {
    const [oldest] = importers.keys();
    if (oldest !== undefined) importers.delete(oldest);
  }
  return importer;
}

/** `import(specifier)` as it would be in the file at `url`, whether or not there is such a file. */
export function importFrom(url: string, specifier: string, options?: object): Promise<object> {
  return importerAt(url)(specifier, options);
}
