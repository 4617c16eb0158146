import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { errorCode, isError } from "../../checks/index.ts";
import { importFrom, prepareForTypeScript, projectRoot } from "../../functions/index.ts";

/** The file that modules to preload are imported from. It need not exist. */
const IMPORTER = "preload.mjs";

/**
 * The specifier of a module to preload that a worker is told. Paths are relative to the working directory of the
 * caller.
 */
export function preloadSpecifier(specifier: string): string {
  return specifier.startsWith(".") || specifier.startsWith("/") ? pathToFileURL(resolve(specifier)).href : specifier;
}

/** Imports a module for a worker; see `importModule`. */
export async function preload(specifier: string): Promise<void> {
  await importModule(specifier);
}

/**
 * Imports a module: a URL, or a package of the project or else of the working directory. Rejects with the error of the
 * import; for a package that is in neither place the error names the package and both places.
 */
export async function importModule(specifier: string): Promise<object> {
  await prepareForTypeScript(specifier);
  const folders = new Set([projectRoot(), process.cwd()]);
  for (const folder of folders) {
    const importer = pathToFileURL(join(folder, IMPORTER)).href;
    try {
      return await importFrom(importer, specifier);
    } catch (error) {
      if (!isNotFoundBy(importer, error)) throw explained(error, importer);
    }
  }
  throw new Error(
    `the package "${specifier}" is not installed in ${[...folders].join(" or ")}: install it there, or give its path or URL`,
  );
}

/** Whether the import found no package for the importer itself, rather than for a module that it imports. */
function isNotFoundBy(importer: string, error: unknown): boolean {
  if (!isError(error) || errorCode(error) !== "ERR_MODULE_NOT_FOUND") return false;
  return error.message.startsWith("Cannot find package") && error.message.includes(fileURLToPath(importer));
}

function explained(error: unknown, importer: string): unknown {
  if (!isError(error)) return error;
  // The file in this part of the message does not exist.
  const place = ` imported from ${fileURLToPath(importer)}`;
  if (error.message.endsWith(place)) return new Error(error.message.slice(0, -place.length), { cause: error });
  if (errorCode(error) !== "ERR_UNKNOWN_FILE_EXTENSION") return error;
  return new TypeError(
    `${error.message}: add tsx to its project (npm install --save-dev tsx), use a Node.js that runs TypeScript, or start ` +
      "workers with a loader for such files (workerOptions.execArgv)",
    { cause: error },
  );
}
