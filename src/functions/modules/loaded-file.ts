import { readFileSync, statSync } from "node:fs";

/**
 * True when a file still has the content that this process loaded. That is certain if the file was not touched since
 * the process began. Otherwise the file must equal the engine's source, which a transpiled file does not.
 *
 * @param source - returns the engine's source, called only if needed; undefined when it has not been loaded
 */
export function isAsLoaded(path: string, source: () => string | undefined): boolean {
  // Unlike `mtime`, this time is not preserved when a file is unpacked or copied.
  if (statSync(path).ctimeMs < performance.timeOrigin) return true;
  const loaded = source();
  return loaded === undefined || readFileSync(path, "utf8").replace(/^\uFEFF/, "") === loaded;
}
