import { findSourceMap } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isError } from "../checks/index.ts";
import { IS_BUNDLED, OWN_URL } from "../functions/index.ts";

/**
 * Names of the runtime's files in a stack: the URL of their folder for modules, its path for CommonJS, and their
 * sources where source maps are enabled. In a bundle the user's code is in the same file, so the two cannot be told
 * apart.
 */
const OWN_PLACES: readonly string[] = IS_BUNDLED ? [] : ownPlaces(OWN_URL);

function ownPlaces(url: string): string[] {
  const isSource = url.endsWith(".ts");
  const folder = new URL(isSource ? "../../" : ".", url);
  const places = [folder.href, fileURLToPath(folder)];
  if (folder.pathname.endsWith("/dist/")) places.push(fileURLToPath(new URL("../src/", folder)));
  return places;
}

/** Whether a line of a stack is of the runtime or of Node.js itself. Such lines do not help users to find a mistake. */
export function isRuntimeLine(line: string): boolean {
  return (
    /^\s+at /.test(line) &&
    (OWN_PLACES.some((place) => line.includes(place)) ||
      line.includes("(node:internal") ||
      line.includes("at node:internal") ||
      line.includes("(node:async_hooks") ||
      line.includes("[nodejs.internal"))
  );
}

/** Leaves only the user's own lines in the stack of an error, and in those of its causes. Accepts any value. */
export function trimStack(error: unknown): void {
  changeStacks(error, (stack) =>
    stack
      .split("\n")
      .filter((line) => !isRuntimeLine(line))
      .join("\n"),
  );
}

/** Changes the stack of an error, and those of its causes. */
function changeStacks(error: unknown, change: (stack: string) => string): void {
  for (const reached of withCauses(error)) {
    try {
      const stack = readStack(reached);
      if (typeof stack !== "string") continue;
      const changed = change(stack);
      if (changed !== stack) setStack(reached, changed);
    } catch {
      // A proxy may refuse every operation.
    }
  }
}

/** An error, what caused it, and the errors that it holds. */
function withCauses(error: unknown): Set<Error> {
  const reached = new Set<Error>();
  const follow = (value: unknown): void => {
    try {
      if (!isError(value) || reached.has(value)) return;
      reached.add(value);
      // Accessors are not called: that would run the user's code.
      follow(Reflect.getOwnPropertyDescriptor(value, "cause")?.value);
      const errors: unknown = Reflect.getOwnPropertyDescriptor(value, "errors")?.value;
      if (Array.isArray(errors)) errors.forEach(follow);
    } catch {
      // A proxy may refuse every operation.
    }
  };
  follow(error);
  return reached;
}

const PLACE = /^(\s+at .*?)((?:file:\/\/)?\/[^()]*):(\d+):(\d+)(\)?)$/;

/**
 * Maps the stacks of an error from another process, and of its causes, to places in sources, where this process has a
 * source map for a file. The engine does so for its own stacks if source maps are enabled; this does so only then, too.
 */
export function mapSources(error: unknown): void {
  if (process.sourceMapsEnabled) changeStacks(error, mapLines);
}

function mapLines(stack: string): string {
  return stack
    .split("\n")
    .map((line) => {
      const [, before = "", file = "", row, column, after = ""] = PLACE.exec(line) ?? [];
      if (row === undefined) return line;
      const map =
        findSourceMap(file) ?? findSourceMap(file.startsWith("/") ? pathToFileURL(file).href : fileURLToPath(file));
      const entry = map?.findEntry(Number(row) - 1, Number(column) - 1);
      if (entry === undefined || !("originalSource" in entry)) return line;
      const { originalSource, originalLine, originalColumn } = entry;
      const source = originalSource.startsWith("file:") ? fileURLToPath(originalSource) : originalSource;
      return `${before}${source}:${originalLine + 1}:${originalColumn + 1}${after}`;
    })
    .join("\n");
}

/** The engine makes the stack when it is first read, and throws if the name is a symbol: such an error gets another stack. */
function readStack(error: Error): unknown {
  try {
    return error.stack;
  } catch {
    // Redefining it would make the engine create it first.
    Reflect.deleteProperty(error, "stack");
    setStack(error, `Error: ${String(error.message)}`);
    return undefined;
  }
}

/** Gives an error another stack, unless it does not allow that. */
export function setStack(error: Error, stack: string): void {
  Reflect.defineProperty(error, "stack", { value: stack, writable: true, configurable: true, enumerable: false });
}
