import { readFileSync, statSync } from "node:fs";

/**
 * True when a file still is what this process loaded from it. One that was not touched since the process began is;
 * otherwise what the engine has of it must be what is in the file, which is not so for what was transpiled.
 *
 * @param source - what the engine has of it, asked for only then; undefined when it has not been loaded
 */
export function isAsLoaded(path: string, source: () => string | undefined): boolean {
  // Unlike the time of its content, this one is not kept when a file is unpacked or copied.
  if (statSync(path).ctimeMs < performance.timeOrigin) return true;
  const loaded = source();
  return loaded === undefined || readFileSync(path, "utf8").replace(/^\uFEFF/, "") === loaded;
}
