import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { errorCode, isError, stackOf } from "../checks/index.ts";
import { isTypeScript } from "../functions/index.ts";
import { UsageError } from "./command.ts";

/** A module that was loaded, or the loader that Node needs to be started with to load it. */
export type Loaded =
  | { readonly namespace: object; readonly loader?: undefined }
  | { readonly loader: string; readonly namespace?: undefined };

/** The error of Node.js for an import that tsx may resolve, because tsx tries more names. */
const NOT_FOUND = new Set(["ERR_MODULE_NOT_FOUND", "ERR_UNSUPPORTED_DIR_IMPORT"]);

/**
 * Imports a file, which runs its top level. For TypeScript that this Node.js cannot run by itself, it returns the
 * loader `tsx`, if the project has it.
 *
 * @throws UsageError when the file cannot be imported
 */
export async function loadModule(path: string, file: string): Promise<Loaded> {
  try {
    const namespace: unknown = await import(pathToFileURL(path).href);
    if (typeof namespace === "object" && namespace !== null) return { namespace };
    throw new TypeError("it has no namespace");
  } catch (error) {
    const isUnread = isUnreadTypeScript(error);
    if (!isUnread && !(isTypeScript(path) && (error instanceof SyntaxError || NOT_FOUND.has(codeOf(error))))) {
      throw failure(file, error);
    }
    if (hasTsx()) throw failure(file, error);
    const loader = tsxFor(path);
    if (loader !== undefined) return { loader };
    throw new UsageError(
      `${isUnread ? "" : `${failure(file, error).message}\n`}${file} is, or imports, TypeScript that ` +
        `Node ${process.versions.node} cannot run by itself. Add tsx to its project: npm install --save-dev tsx.`,
    );
  }
}

/** Whether Node.js reported that it does not run TypeScript, or not this kind of it. */
function isUnreadTypeScript(error: unknown): boolean {
  const code = codeOf(error);
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") return true;
  if (code !== "ERR_UNKNOWN_FILE_EXTENSION" || !isError(error)) return false;
  return isTypeScript(/"(\.\w+)"/.exec(error.message)?.[1] ?? "");
}

/** Where the project of a file has `tsx`. */
function tsxFor(path: string): string | undefined {
  try {
    return pathToFileURL(createRequire(path).resolve("tsx")).href;
  } catch {
    return undefined;
  }
}

function hasTsx(): boolean {
  return [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].some((option) => /\btsx\b/.test(option));
}

function failure(file: string, error: unknown): UsageError {
  const text = stackOf(error);
  return new UsageError(`${file} failed while it was imported:\n${text}`);
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? "";
}
