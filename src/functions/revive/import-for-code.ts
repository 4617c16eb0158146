import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { errorCode, isError } from "../../checks/index.ts";
import { importFrom, pathOf, prepareForTypeScript, projectRoot, resolveUserModule } from "../modules/index.ts";

/**
 * `import()` in code from another process: works as in its file, which is at `importer` here. Rejects with the error of
 * Node.js; for a file that Node.js cannot load, with a fix.
 */
export async function importForCode(importer: string, specifier: unknown, options?: object): Promise<object> {
  const local = locally(String(specifier));
  try {
    // "./near.js" in TypeScript may be near.ts, and a specifier that looks like a package may be a file.
    await prepareForTypeScript(importer);
    const target = resolveUserModule(local, pathOf(importer) ?? projectRoot());
    if (target !== undefined) await prepareForTypeScript(pathToFileURL(target).href);
    return await importFrom(importer, local, options);
  } catch (error) {
    throw explained(error, String(specifier));
  }
}

/** Test runners name a file by its path below the root, or by `/@fs` and its whole path. */
function locally(specifier: string): string {
  if (!specifier.startsWith("/")) return specifier;
  const path = specifier.replace(/^\/@fs(?=\/)/, "").replace(/^\/(?=[A-Za-z]:\/)/, "");
  for (const candidate of candidates(path)) if (existsSync(candidate)) return pathToFileURL(candidate).href;
  return specifier;
}

function* candidates(path: string): Generator<string> {
  // Only the test runner supports other queries, such as `?raw`.
  const bare = path.replace(/\?(?:(?:v|t)=\w+|import)$/, "");
  yield bare;
  yield join(projectRoot(), bare);
  const at = bare.lastIndexOf("/node_modules/");
  if (at < 0) return;
  // The package is elsewhere on this machine.
  for (let directory = projectRoot(); ; directory = dirname(directory)) {
    yield join(directory, bare.slice(at));
    if (dirname(directory) === directory) return;
  }
}

function explained(error: unknown, specifier: string): unknown {
  if (!isError(error) || errorCode(error) !== "ERR_UNKNOWN_FILE_EXTENSION") return error;
  const message =
    `import("${specifier}") runs in Node.js itself in the process that runs this code, and Node.js cannot load the file: ` +
    `${error.message}. Import it at the top of the file instead, so that the parts that are used travel as code; or, if ` +
    "it is TypeScript, add tsx to its project (npm install --save-dev tsx), so that workers can load it; or " +
    "start workers with another loader for it (workerOptions.execArgv).";
  return Object.assign(new TypeError(message, { cause: error }), { code: errorCode(error) });
}
