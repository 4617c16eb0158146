import { constants, Script } from "node:vm";
import { BoundedMap } from "../shipment/index.ts";

type Importer = (specifier: string, options?: object) => Promise<object>;

const importers = new BoundedMap<string, Importer>(1024);

function isImporter(value: unknown): value is Importer {
  return typeof value === "function";
}

function importerAt(url: string): Importer {
  const known = importers.get(url);
  if (known !== undefined) return known;
  // A script's `import()` resolves from the script's own file name. Its URL in the engine must not be that of the file,
  // or it would be taken for the newest version of the file.
  const script = new Script("(specifier, options) => import(specifier, options)\n//# sourceURL=wool:import", {
    filename: url,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const importer: unknown = script.runInThisContext();
  if (!isImporter(importer)) throw new TypeError("import() is not available");
  importers.set(url, importer);
  return importer;
}

/** Runs `body` without the warning that a script's own `import()` is experimental; other warnings are kept. */
function withoutNotice<T>(body: () => T): T {
  const { emitWarning } = process;
  const quiet = (...args: unknown[]): void => {
    if (!String(args[0]).includes("USE_MAIN_CONTEXT_DEFAULT_LOADER")) Reflect.apply(emitWarning, process, args);
  };
  process.emitWarning = quiet;
  try {
    return body();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** `import(specifier)` as in the file at `url`, whether or not that file exists. */
export function importFrom(url: string, specifier: string, options?: object): Promise<object> {
  const importer = importerAt(url);
  return withoutNotice(() => importer(specifier, options));
}
