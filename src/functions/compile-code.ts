import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { type CodeData, INSERTED } from "./code-data.ts";
import { importFrom } from "./import-from.ts";
import { pathOf } from "./root.ts";

/** One function made from a piece of code. */
export interface CodeInstance {
  readonly value: object;
  /** Sets the captured variables, in the order of the code's slots. */
  fill(values: readonly unknown[]): void;
  /** The captured variables as they are now. */
  read(): unknown[];
}

/** What a class needs when it is defined. */
export interface Definition {
  readonly superclass: unknown;
  readonly keys: readonly unknown[];
}

/** Makes a new function from a piece of code each time it is called. */
export type CodeFactory = (definition: Definition) => CodeInstance;

type RawFactory = (...inserted: unknown[]) => [(values: readonly unknown[]) => void, () => unknown[], object];

function isRawFactory(value: unknown): value is RawFactory {
  return typeof value === "function";
}

/** Compiles a piece of code once; `importer` is the url from which it imports. */
export function compileCode(code: CodeData, importer: string): CodeFactory {
  const { base, slots, text, form } = code;
  const parameters = [INSERTED.superclass, INSERTED.keys, INSERTED.importer, INSERTED.meta].map((name) => base + name);
  const value = `${base}v`;
  const assignments = slots.map((name, index) => `${name}=${value}[${index}];`).join("");
  const open =
    `(function(${parameters.join()}){${code.isStrict ? '"use strict";' : ""}` +
    `${slots.length === 0 ? "" : `let ${slots.join()};`}return[${value}=>{${assignments}},()=>[${slots.join()}],` +
    (form === "method" ? "({" : "(");
  const script = new Script(`${open}${text}\n${form === "method" ? "})" : ")"}]})`, {
    filename: code.url === "" ? "shipped.js" : code.url,
    lineOffset: code.line,
    columnOffset: code.column - open.length,
  });
  const factory: unknown = script.runInThisContext();
  if (!isRawFactory(factory)) throw new TypeError("the code of a function is malformed");
  const meta = importMeta(importer);
  const load = (specifier: unknown, options?: object): Promise<object> => importFrom(importer, String(specifier), options);
  return ({ superclass, keys }) => {
    const [fill, read, made] = factory(superclass, keys, load, meta);
    return { value: form === "method" ? methodOf(made) : made, fill, read };
  };
}

/** The only member of an object literal. */
function methodOf(holder: object): object {
  for (const { value, get, set } of Object.values(Object.getOwnPropertyDescriptors(holder))) {
    const method: unknown = value ?? get ?? set;
    if (typeof method === "function") return method;
  }
  throw new TypeError("the code of a method is malformed");
}

function importMeta(url: string): object {
  const path = pathOf(url);
  return Object.assign(Object.create(null) as object, {
    ...(path === undefined ? {} : { dirname: dirname(path), filename: path }),
    url,
    resolve: (specifier: string): string => {
      if (/^\.{0,2}\//.test(specifier)) return new URL(specifier, url).href;
      const resolved = createRequire(path ?? fileURLToPath(new URL("shipped.mjs", url))).resolve(specifier);
      return resolved.startsWith("/") ? pathToFileURL(resolved).href : resolved;
    },
  });
}
