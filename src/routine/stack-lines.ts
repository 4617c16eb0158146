import { fileURLToPath } from "node:url";
import { isError } from "../checks/index.ts";
import { IS_BUNDLED, OWN_URL } from "../functions/index.ts";

/**
 * What names the runtime's files in a stack: the url of their folder where they are modules, its path where they are
 * CommonJS, and their sources where source maps are in force. In a bundle the user's code is in the same file, and
 * nothing tells the one from the other.
 */
const OWN_PLACES: readonly string[] = IS_BUNDLED ? [] : ownPlaces(OWN_URL);

function ownPlaces(url: string): string[] {
  const isSource = url.endsWith(".ts");
  const folder = new URL(isSource ? "../../" : ".", url);
  const places = [folder.href, fileURLToPath(folder)];
  if (folder.pathname.endsWith("/dist/")) places.push(fileURLToPath(new URL("../src/", folder)));
  return places;
}

/** Whether a line of a stack is of the runtime or of Node.js itself, and does not help users to find their fault. */
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

/** Leaves only the user's own lines in an error's stack. Takes anything. */
export function trimStack(error: unknown): void {
  try {
    if (!isError(error)) return;
    const stack = readStack(error);
    if (typeof stack !== "string") return;
    const lines = stack.split("\n");
    const kept = lines.filter((line) => !isRuntimeLine(line));
    if (kept.length < lines.length) setStack(error, kept.join("\n"));
  } catch {
    // A proxy may refuse every operation.
  }
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
