import { createRequire } from "node:module";
import { isAbsolute, join } from "node:path";
import { isError } from "../../checks/index.ts";
import { fromRootRelative, isTypeScript, prepareToRequire, resolveUserModule } from "../modules/index.ts";

/**
 * `require` in code from another process: works as in a file of that directory, relative to the root. Node.js alone does
 * not find "./near" where it is near.ts, as test runners and TypeScript loaders do.
 */
export function requireIn(directory: string): NodeJS.Require {
  const importer = join(isAbsolute(directory) ? directory : fromRootRelative(directory), "shipped.js");
  const native = createRequire(importer);
  const files = new Map<string, string>();
  const fileOf = (specifier: string): string => {
    const file = files.get(specifier) ?? findFile(native, specifier, importer);
    files.set(specifier, file);
    return file;
  };
  const load = (specifier: string): unknown => {
    const file = typeof specifier === "string" ? fileOf(specifier) : specifier;
    if (file === specifier || !isTypeScript(file)) return native(file);
    prepareToRequire(file);
    try {
      return native(file);
    } catch (error) {
      throw explained(error, specifier, file);
    }
  };
  const resolve = (specifier: string, options?: Parameters<NodeJS.RequireResolve>[1]): string =>
    options === undefined ? native.resolve(fileOf(specifier)) : native.resolve(specifier, options);
  const { cache, extensions, main } = native;
  return Object.assign(load, {
    resolve: Object.assign(resolve, { paths: native.resolve.paths }),
    cache,
    extensions,
    main,
  });
}

/** The user's file, if it is TypeScript. Else the specifier itself, for Node.js to find. */
function findFile(native: NodeJS.Require, specifier: string, importer: string): string {
  const target = resolveUserModule(specifier, importer);
  if (target !== undefined && isTypeScript(target)) return target;
  if (target === undefined || !specifier.startsWith(".")) return specifier;
  try {
    native.resolve(specifier);
    return specifier;
  } catch {
    return target;
  }
}

function explained(error: unknown, specifier: string, file: string): unknown {
  if (!isError(error) || error.name !== "SyntaxError") return error;
  const message =
    `require("${specifier}") runs in Node.js itself in the process that runs this code, and Node.js cannot load ${file}: ` +
    `${error.message}. Import it at the top of the file instead, so that the parts that are used travel as code; or add tsx ` +
    "to its project (npm install --save-dev tsx), so that workers can load it.";
  return new TypeError(message, { cause: error });
}
