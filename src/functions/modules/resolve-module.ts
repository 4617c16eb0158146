import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, resolve } from "node:path";
import { BoundedMap, isRecord, type PlainData } from "../shipment/index.ts";
import { isInPackage, pathOf, projectRoot } from "./root.ts";

const EXTENSIONS = ["", ".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx", ".json"];
const RELATIVE = /^\.{0,2}\/|^file:/;
const OTHER_SCHEME = /^(?:data|https?|node):/;
/** The specifiers of this package. */
export const RUNTIME = /^wool-ts(?:\/|$)/;
const CONDITIONS: ReadonlySet<string> = new Set(["node", "import", "module-sync", "default"]);

/**
 * The file that a specifier in a user's file names. It may be in a package of the same workspace, or come from `paths`
 * of tsconfig.json. Undefined for other packages and for modules of Node.js.
 */
export function resolveUserModule(specifier: string, importer: string): string | undefined {
  if (RELATIVE.test(specifier)) return resolveFile(specifier, importer);
  if (OTHER_SCHEME.test(specifier) || isBuiltin(specifier)) return undefined;
  // The receiver has its own runtime, even if the runtime is linked here.
  if (RUNTIME.test(specifier)) return undefined;
  const path = specifier.startsWith("#") ? requireResolve(specifier, importer) : resolveLinked(specifier, importer);
  return path === undefined || isInPackage(path) ? undefined : path;
}

/** True for the name of a package, or a specifier that looks like one. */
export function isBareSpecifier(specifier: string): boolean {
  return !RELATIVE.test(specifier) && !OTHER_SCHEME.test(specifier) && !specifier.startsWith("#");
}

function resolveFile(specifier: string, importer: string): string | undefined {
  const [bare = specifier] = specifier.split(/[?#]/);
  const absolute = pathOf(bare);
  // A test runner names a file by its path below the root.
  const base =
    absolute === undefined
      ? resolve(dirname(importer), bare)
      : existsSync(absolute)
        ? absolute
        : join(projectRoot(), absolute);
  const typescript = base.replace(/\.([cm]?)js(x?)$/, ".$1ts$2");
  for (const stem of typescript === base ? [base] : [base, typescript]) {
    for (const extension of EXTENSIONS) if (isFile(stem + extension)) return stem + extension;
  }
  for (const extension of EXTENSIONS.slice(1)) {
    if (isFile(join(base, `index${extension}`))) return join(base, `index${extension}`);
  }
  return undefined;
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

const linked = new BoundedMap<string, { readonly path: string | undefined }>(4096);

/** The file that `require` finds, with the help of a TypeScript loader if there is one. */
export function requireResolve(specifier: string, importer: string): string | undefined {
  try {
    return createRequire(importer).resolve(specifier);
  } catch {
    return undefined;
  }
}

function resolveLinked(specifier: string, importer: string): string | undefined {
  const key = `${dirname(importer)}\n${specifier}`;
  const known = linked.get(key);
  if (known !== undefined) return known.path;
  const path = findLinked(specifier, importer);
  linked.set(key, { path });
  return path;
}

function findLinked(specifier: string, importer: string): string | undefined {
  const [, name = specifier, rest = ""] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [];
  for (let directory = dirname(importer); ; directory = dirname(directory)) {
    const installed = join(directory, "node_modules", name);
    if (existsSync(installed)) {
      const real = realpathSync(installed);
      return isInPackage(real) ? undefined : (exportedFile(real, `.${rest}`) ?? requireResolve(specifier, importer));
    }
    if (dirname(directory) === directory) return requireResolve(specifier, importer);
  }
}

/** The file that `import` finds in a package; undefined when there is none. */
export function importResolve(specifier: string, importer: string): string | undefined {
  if (!isBareSpecifier(specifier) || isBuiltin(specifier)) return undefined;
  const [, name = specifier, rest = ""] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [];
  for (let directory = dirname(importer); dirname(directory) !== directory; directory = dirname(directory)) {
    const installed = join(directory, "node_modules", name);
    if (!existsSync(installed)) continue;
    return exportedFile(realpathSync(installed), `.${rest}`) ?? requireResolve(specifier, importer);
  }
  return undefined;
}

/** The file that a package offers to `import` under a subpath; undefined when its package.json does not say. */
function exportedFile(directory: string, subpath: string): string | undefined {
  let manifest: PlainData;
  try {
    manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  } catch {
    return undefined;
  }
  const target = targetOf(isRecord(manifest) ? manifest["exports"] : undefined, subpath);
  const path = target === undefined ? undefined : join(directory, target);
  return path !== undefined && isFile(path) ? realpathSync(path) : undefined;
}

function targetOf(exports: PlainData | undefined, subpath: string): string | undefined {
  if (!isRecord(exports) || !Object.keys(exports).some((key) => key.startsWith("."))) {
    return subpath === "." ? conditional(exports) : undefined;
  }
  if (Object.hasOwn(exports, subpath)) return conditional(exports[subpath]);
  for (const [pattern, target] of Object.entries(exports)) {
    const [before = "", after] = pattern.split("*");
    if (after === undefined || !subpath.startsWith(before) || !subpath.endsWith(after)) continue;
    const middle = subpath.slice(before.length, subpath.length - after.length);
    return conditional(target)?.replaceAll("*", middle);
  }
  return undefined;
}

function conditional(target: PlainData | undefined): string | undefined {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.map(conditional).find((each) => each !== undefined);
  if (!isRecord(target)) return undefined;
  for (const [condition, value] of Object.entries(target)) {
    const found = CONDITIONS.has(condition) ? conditional(value) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

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
