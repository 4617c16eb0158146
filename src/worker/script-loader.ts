import Module from "node:module";
import { sep } from "node:path";
import { keepCompiledCode, keepsCompiledCode } from "./compile-cache.ts";

/** Loads a CommonJS file of the folder dist of the package, by its name, and returns its exports. */
export type LoadScript = (file: string) => unknown;

/** What Node.js makes of a CommonJS file. */
export type ScriptBody = (
  exports: unknown,
  require: LoadScript,
  module: { exports: unknown },
  filename: string,
  dirname: string,
) => void;

/** Scripts that a file of the build has together, by the names of the files that each of them is in besides. */
export type ScriptSet = Readonly<Record<string, ScriptBody>>;

/**
 * Loads CommonJS files of the folder dist of the package, which is `folder`. They are in the cache of `require`, so that
 * everything else in the thread that loads them has the same instances. `name`: that of the kind of thread, whose scripts
 * are in one file besides (`ScriptSet`). Compiled code is kept by Node.js from version 22 on, and by `kept-scripts.ts` before.
 */
export function scriptLoader(folder: string, name: string, require: NodeJS.Require): LoadScript {
  const fromFile: LoadScript = (file) => require(`./${file}`) as unknown;
  const keeps = keepsCompiledCode();
  // A set of scripts has no source map.
  const isMapped = process.sourceMapsEnabled || process.env["NODE_V8_COVERAGE"] !== undefined;
  const set = isMapped ? undefined : `${name}-scripts.cjs`;
  if (keeps && !("enableCompileCache" in Module)) {
    const { keptScriptLoader } = require("./kept-scripts.cjs") as typeof import("./kept-scripts.ts");
    return keptScriptLoader(folder, name, set, require);
  }
  if (keeps) keepCompiledCode(folder);
  if (set === undefined) return fromFile;
  const bodies = fromFile(set) as ScriptSet;
  const load: LoadScript = (file) => {
    const path = folder + sep + file;
    const loaded = require.cache[path];
    if (loaded !== undefined) return loaded.exports as unknown;
    const body = bodies[file];
    return body === undefined ? fromFile(file) : runScript(body, path, folder, load, require);
  };
  return load;
}

/** Runs the script of a file, and returns its exports. `load` loads the scripts that it requires. */
export function runScript(
  body: ScriptBody,
  path: string,
  folder: string,
  load: LoadScript,
  require: NodeJS.Require,
): unknown {
  const module = new Module(path);
  module.filename = path;
  require.cache[path] = module;
  try {
    const requireHere: LoadScript = (specifier) =>
      specifier.startsWith("./") ? load(specifier.slice(2)) : (require(specifier) as unknown);
    body(module.exports, requireHere, module, path, folder);
    module.loaded = true;
  } finally {
    if (!module.loaded) delete require.cache[path];
  }
  return module.exports;
}
