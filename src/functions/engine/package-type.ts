import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const types = new Map<string, string>();

/** What the nearest package.json above a file says that its `.js` files are: `module` or `commonjs`. */
export function packageTypeOf(path: string): string {
  const directory = dirname(path);
  const known = types.get(directory);
  if (known !== undefined) return known;
  const type = readType(directory) ?? (directory === dirname(directory) ? "commonjs" : packageTypeOf(directory));
  types.set(directory, type);
  return type;
}

/** Undefined when there is no package.json in the directory. */
function readType(directory: string): string | undefined {
  try {
    const description: unknown = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    const isModule = typeof description === "object" && description !== null && Reflect.get(description, "type");
    return isModule === "module" ? "module" : "commonjs";
  } catch {
    return undefined;
  }
}
