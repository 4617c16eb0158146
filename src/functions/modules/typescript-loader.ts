import { fileURLToPath } from "node:url";
import { importFrom } from "./import-from.ts";

const TYPESCRIPT = /\.(?:[cm]?ts|[jt]sx)$/;
/** What else is known to run TypeScript. Whatever other modules Node is started with, they have another purpose. */
const OTHER_LOADER =
  /(?:^|\s)(?:--import|--loader|--experimental-loader|--require|-r)[\s=]+\S*(?:ts-node|swc|esbuild|sucrase|jiti|babel|amaro|ts-blank-space|oxc)/;

let registered: Promise<void> | undefined;

/** True for the path of a file that is TypeScript, or has to be compiled as that is. */
export function isTypeScript(path: string): boolean {
  return TYPESCRIPT.test(path);
}

/**
 * Lets this thread import the file at `url`, if it is TypeScript, with the `tsx` of the project that it belongs to.
 * Without one the file is left to Node, which runs TypeScript in some versions and most of it only, or to another loader
 * that Node was started with. To be done before the first try: what Node failed to load once it does not try again.
 *
 * Starting Node with `--import tsx` is not enough on Node 20, where that leaves threads as they are.
 */
export async function prepareForTypeScript(url: string): Promise<void> {
  if (!url.startsWith("file:") || registered !== undefined) return await registered;
  const path = fileURLToPath(url.replace(/[?#].*$/, ""));
  if (!isTypeScript(path) || hasOtherLoader()) return;
  registered = registerTsx(url);
  await registered;
}

async function registerTsx(url: string): Promise<void> {
  // What `import` loads is one kind, what that loads by `require` the other.
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
