import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { errorCode, isError } from "../../checks/index.ts";
import { importFrom, pathOf, prepareForTypeScript, projectRoot, resolveUserModule } from "../modules/index.ts";

/**
 * What `import()` means in code that came from another process: as in its file, which is at `importer` here. Rejects
 * with what Node says; for a file that Node has no loader for, also with what to do.
 */
export async function importForCode(importer: string, specifier: unknown, options?: object): Promise<object> {
  const local = locally(String(specifier));
  try {
    // What TypeScript calls "./near.js" may be near.ts, and what looks like a package may be a file.
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
  // What other queries ask for, such as `?raw`, is done by the test runner only.
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
    `import("${specifier}") is done by Node itself in the process that runs this code, and it cannot load the file: ` +
    `${error.message}. Import it at the top of the file instead, so that what is used of it travels as code; or, if ` +
    "it is TypeScript, add tsx to its project (npm install --save-dev tsx), with which workers load such files; or " +
    "start workers with another loader for it (workerOptions.execArgv).";
  return Object.assign(new TypeError(message, { cause: error }), { code: errorCode(error) });
}
