import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { importFrom } from "./import-from.ts";

const TYPESCRIPT = /\.(?:[cm]?ts|[jt]sx)$/;
/** Other loaders that run TypeScript. Any other module that Node.js is started with has another purpose. */
const OTHER_LOADER =
  /(?:^|\s)(?:--import|--loader|--experimental-loader|--require|-r)[\s=]+\S*(?:ts-node|swc|esbuild|sucrase|jiti|babel|amaro|ts-blank-space|oxc)/;

let registered: Promise<void> | undefined;

/** True for the path of a file that is TypeScript, or has to be compiled like it. */
export function isTypeScript(path: string): boolean {
  return TYPESCRIPT.test(path);
}

/**
 * Lets this thread import the file at `url`, if it is TypeScript, with the `tsx` of the project that it belongs to.
 * Without `tsx` the file is left to Node.js, some versions of which run most TypeScript, or to another loader that
 * Node.js was started with. Call it before the first import: Node.js does not retry a file that it failed to load.
 *
 * Starting Node.js 20 with `--import tsx` is not enough: it does not affect threads.
 */
export async function prepareForTypeScript(url: string): Promise<void> {
  if (!url.startsWith("file:") || registered !== undefined) return await registered;
  const path = fileURLToPath(url.replace(/[?#].*$/, ""));
  if (!isTypeScript(path) || hasOtherLoader()) return;
  registered = registerTsx(url);
  await registered;
}

/**
 * The same for `require`, which cannot wait. Projects of test runners often have no `tsx`, but the compiler itself.
 */
export function prepareToRequire(path: string): void {
  if (registered !== undefined || isRequiring || !isTypeScript(path) || hasOtherLoader()) return;
  isRequiring = true;
  const loader = requireIfThere(path, "tsx/cjs/api");
  if (loader !== undefined && hasRegister(loader)) loader.register();
  else compileWhenRequired(path);
}

function requireIfThere(path: string, specifier: string): object | undefined {
  try {
    const loaded: unknown = createRequire(path)(specifier);
    return typeof loaded === "object" && loaded !== null ? loaded : undefined;
  } catch {
    return undefined;
  }
}

/** As much of the compiler as is used. Its next versions do not have these functions. */
interface Compiler {
  readonly sys: {
    readonly fileExists: (path: string) => boolean;
    readonly readFile: (path: string) => string | undefined;
  };
  readonly ModuleKind: { readonly CommonJS: number };
  findConfigFile(from: string, exists: (path: string) => boolean): string | undefined;
  readConfigFile(path: string, read: (path: string) => string | undefined): { readonly config?: unknown };
  parseJsonConfigFileContent(config: unknown, host: object, folder: string): { readonly options: object };
  transpileModule(
    text: string,
    options: { readonly fileName: string; readonly compilerOptions: object },
  ): { readonly outputText: string };
}

function isCompiler(value: object | undefined): value is Compiler {
  return value !== undefined && "transpileModule" in value && "findConfigFile" in value && "sys" in value;
}

function compileWhenRequired(path: string): void {
  const compiler = requireIfThere(path, "typescript");
  if (!isCompiler(compiler)) return;
  const config = compiler.findConfigFile(dirname(path), compiler.sys.fileExists);
  const read = config === undefined ? {} : (compiler.readConfigFile(config, compiler.sys.readFile).config ?? {});
  const { options } = compiler.parseJsonConfigFileContent(read, compiler.sys, dirname(config ?? path));
  const compilerOptions = { ...options, module: compiler.ModuleKind.CommonJS, inlineSourceMap: true, sourceMap: false };
  const { extensions } = createRequire(path);
  for (const extension of [".ts", ".cts", ".tsx"]) {
    extensions[extension] = (module, fileName) => {
      const { outputText } = compiler.transpileModule(readFileSync(fileName, "utf8"), { fileName, compilerOptions });
      const compile: unknown = Reflect.get(module, "_compile");
      if (typeof compile === "function") Reflect.apply(compile, module, [outputText, fileName]);
    };
  }
}

let isRequiring = false;

async function registerTsx(url: string): Promise<void> {
  // One is for files that `import` loads, the other for files that `require` loads.
  for (const api of ["tsx/esm/api", ...(isRequiring ? [] : ["tsx/cjs/api"])]) {
    const loader = await importFrom(url, api).catch(() => undefined);
    if (loader !== undefined && hasRegister(loader)) loader.register();
  }
}

function hasRegister(loader: object): loader is { register: () => unknown } {
  return "register" in loader && typeof loader.register === "function";
}

function hasOtherLoader(): boolean {
  return OTHER_LOADER.test([...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" "));
}
