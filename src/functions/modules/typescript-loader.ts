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

async function registerTsx(url: string): Promise<void> {
  // One is for files that `import` loads, the other for files that `require` loads.
  for (const api of ["tsx/esm/api", "tsx/cjs/api"]) {
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
