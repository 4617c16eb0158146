import { existsSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { InvalidArgument } from "../errors.ts";
import { pathOf, projectRoot } from "../functions/index.ts";
import { isInTaskThread } from "../routine/index.ts";

/** Where in the source something is declared. */
export interface Place {
  readonly file: string;
  /** Line and column, as a stack shows them. */
  readonly position: string;
}

const LOCATION = /(?:\(|at (?:async )?)((?:file:\/\/)?[^()]*?):(\d+:\d+)\)?$/;
const namespaces = new Map<string, string>();
const declared = new Map<string, Place>();

/** Where the user's code calls `constructor`. Undefined when the engine gives no stack. */
export function placeOfCall(constructor: abstract new (...args: never[]) => unknown): Place | undefined {
  const holder: { stack?: unknown } = {};
  Error.captureStackTrace(holder, constructor);
  if (typeof holder.stack !== "string") return undefined;
  const line = holder.stack.split("\n").find((text) => text.trimStart().startsWith("at "));
  const [, url, position] = (line === undefined ? undefined : LOCATION.exec(line)) ?? [];
  if (url === undefined || position === undefined) return undefined;
  // A module that is loaded again has another query in its URL.
  const [address = ""] = url.split("?");
  return { file: pathOf(address) ?? address, position };
}

/**
 * The package that a file belongs to: its name, or an empty string for the program itself. A worker may have other
 * directories than the caller, or no files at all, so the program needs no name.
 */
export function packageOf(file: string): string {
  const parts = file.split(sep);
  const at = parts.lastIndexOf("node_modules");
  if (at >= 0) {
    const [first = "", second = ""] = parts.slice(at + 1);
    return first.startsWith("@") ? `${first}/${second}` : first;
  }
  return workspaceOf(dirname(file));
}

function workspaceOf(directory: string): string {
  const known = namespaces.get(directory);
  if (known !== undefined) return known;
  const name = readWorkspace(directory);
  namespaces.set(directory, name);
  return name;
}

function readWorkspace(directory: string): string {
  const manifest = join(directory, "package.json");
  if (directory === projectRoot() || dirname(directory) === directory) return "";
  if (!existsSync(manifest)) return workspaceOf(dirname(directory));
  try {
    const { name } = JSON.parse(readFileSync(manifest, "utf8")) as { name?: unknown };
    // A package.json without a name only says how the files below it are loaded.
    return typeof name === "string" ? name : workspaceOf(dirname(directory));
  } catch {
    return "";
  }
}

/**
 * Remembers a declaration. Declaring again at the same place is fine: the module was loaded again, or a function ran
 * twice. Task threads do not check: they run code of several independent programs, and the callers have checked it.
 *
 * @throws InvalidArgument for a key that is declared at another place
 */
export function declareOnce(key: string, place: Place, describe: () => string): void {
  if (isInTaskThread()) return;
  const known = declared.get(key);
  if (known === undefined) {
    declared.set(key, place);
    return;
  }
  if (known.file === place.file && known.position === place.position) return;
  throw new InvalidArgument(
    `${describe()} is declared twice, at ${show(known)} and at ${show(place)}: declare it once and import it, ` +
      'or give one of them another name or { namespace: "..." }',
  );
}

function show({ file, position }: Place): string {
  return `${file}:${position}`;
}
