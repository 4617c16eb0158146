import { createRequire } from "node:module";
import { keepCompiledCode, keepsCompiledCode } from "./compile-cache.ts";

/** Loads a CommonJS file of the folder dist of the package, by its name, and returns its exports. */
export type LoadScript = (file: string) => unknown;

/**
 * Loads CommonJS files of the folder dist of the package, whose file `url` is. They are in the cache of `require`, so that
 * everything else in the thread that loads them has the same instances. `name`: that of the kind of thread. Compiled code is
 * kept by Node.js from version 22 on, and by `kept-scripts.ts` before.
 */
export function scriptLoader(url: string, name: string): LoadScript {
  const require = createRequire(url);
  const isLeftToNode = "enableCompileCache" in process.getBuiltinModule("node:module");
  if (isLeftToNode) keepCompiledCode(url);
  if (isLeftToNode || !keepsCompiledCode()) return (file) => require(`./${file}`) as unknown;
  const { keptScriptLoader } = require("./kept-scripts.cjs") as typeof import("./kept-scripts.ts");
  return keptScriptLoader(url, name, require);
}
