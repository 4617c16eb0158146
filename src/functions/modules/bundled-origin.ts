import { basename } from "node:path";
import { types } from "node:util";
import {
  EngineClosed,
  type FunctionLocation,
  type Script,
  scriptOf,
  scriptUrl,
  viewFunction,
} from "../engine/index.ts";
import { IS_BUNDLED, isFunction, OWN_URL } from "../shipment/index.ts";
import { isInPackage, pathOf } from "./root.ts";

/** Where code of a bundle was before it was bundled. */
export interface BundledOrigin {
  /** Name of the bundle's file. */
  readonly bundle: string;
  /** Path of the module in the bundler's comments; undefined without such comments, as in minified code. */
  readonly module: string | undefined;
}

/** The comment of esbuild before the code of each module: its path. */
const SECTION = /^[ \t]*\/\/ ((?:\S.*[\\/])?\S+\.\w+)$/;
const PACKAGE_SECTION = /^[ \t]*\/\/ (?:\S.*[\\/])?node_modules[\\/]\S+\.\w+$/m;

/**
 * The origin of a function or class in a bundle: a file that contains modules of packages according to the bundler's
 * comments, or that contains the code of this runtime. Undefined for any other.
 */
export function bundledOrigin(fn: object): BundledOrigin | undefined {
  if (!isFunction(fn) || types.isProxy(fn)) return undefined;
  const location = locationOf(fn);
  // A file of a package is no bundle of the program. Its source may be large.
  if (location === undefined || isInPackage(pathOf(scriptUrl(location.scriptId) ?? "") ?? "")) return undefined;
  const script = scriptOf(location.scriptId);
  const path = script === undefined ? undefined : pathOf(script.url);
  if (script?.source === undefined || path === undefined) return undefined;
  const bundle = basename(path);
  if (PACKAGE_SECTION.test(script.source)) return { bundle, module: sectionAt(script, script.source, location.line) };
  return IS_BUNDLED && path === pathOf(OWN_URL) ? { bundle, module: undefined } : undefined;
}

function locationOf(fn: object): FunctionLocation | undefined {
  try {
    return viewFunction(fn).location;
  } catch (error) {
    if (error instanceof EngineClosed) return undefined;
    throw error;
  }
}

function sectionAt({ startLine }: Script, source: string, line: number): string | undefined {
  const before = source.split("\n", line - startLine + 1);
  return before.findLast((text) => SECTION.test(text))?.replace(SECTION, "$1");
}
