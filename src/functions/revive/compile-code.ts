import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { slotCode } from "../emit/index.ts";
import { noteForeignFile, pathOf } from "../modules/index.ts";
import { type CodeData, type CodeInstance, INSERTED, type PrivateAccess, type RawInstance } from "../shipment/index.ts";
import { importForCode } from "./import-for-code.ts";

/** The values that a class needs when it is defined. */
export interface Definition {
  readonly superclass: unknown;
  readonly keys: readonly unknown[];
}

/** Makes a new function from a piece of code each time it is called. */
export type CodeFactory = (definition: Definition) => CodeInstance;

type RawFactory = (...inserted: unknown[]) => RawInstance;

function isRawMaker(value: unknown): value is () => RawInstance {
  return typeof value === "function";
}

function isRawFactory(value: unknown): value is RawFactory {
  return typeof value === "function";
}

const PARAMETERS = [
  INSERTED.superclass,
  INSERTED.keys,
  INSERTED.importer,
  INSERTED.meta,
  INSERTED.returner,
  INSERTED.methods,
  INSERTED.statics,
  INSERTED.inner,
];

/** Compiles a piece of code once; `importer` is the url from which it imports. */
export function compileCode(code: CodeData, importer: string): CodeFactory {
  const { base, slots, text, form } = code;
  const { declaration, fill: setter, read: getter } = slotCode(slots, code.isStrict);
  const open =
    `(function(${PARAMETERS.map((name) => base + name).join()}){${code.isStrict ? '"use strict";' : ""}` +
    `${declaration}return[${setter},${getter},${form === "method" ? "({" : "("}`;
  const script = new Script(`${open}${text}\n${form === "method" ? "})" : ")"}]})`, {
    filename: code.url === "" ? "shipped.js" : code.url,
    lineOffset: code.line,
    columnOffset: code.column - open.length,
  });
  noteForeignFile(code.url, code.file);
  const factory: unknown = script.runInThisContext();
  if (!isRawFactory(factory)) throw new TypeError("the code of a function is malformed");
  const meta = importMeta(importer);
  const load = (specifier: unknown, options?: object): Promise<object> => importForCode(importer, specifier, options);
  if (form !== "class") return () => functionInstance(factory(undefined, NONE, load, meta), form);
  return ({ superclass, keys }) => {
    const symbols = code.privateMethods.map(({ name }) => Symbol(`#${name}`));
    const methods: unknown[] = [];
    const statics: unknown[] = [];
    const inner: unknown[] = [];
    const [fill, read, made] = factory(
      superclass,
      [...keys, ...symbols],
      load,
      meta,
      Returner,
      methods,
      statics,
      inner,
    );
    const cls = code.privateFields.length + symbols.length > 0 ? objectAt(made, `${base}class`) : made;
    methods.push(...symbols.map((symbol, index) => extractMethod(cls, symbol, code.privateMethods[index]?.role)));
    const privates = privateAccess(code, made, statics);
    return { value: cls, fill, read, holder: undefined, privates, inner: inner.filter(isRawMaker) };
  };
}

const NONE: readonly never[] = [];

function functionInstance([fill, read, made]: RawInstance, form: "expression" | "method"): CodeInstance {
  const [value, holder] = form === "method" ? [methodOf(made), made] : [made, undefined];
  return { value, fill, read, holder, privates: undefined, inner: NONE };
}

/** A superclass that returns an existing object, so that a class adds its private names to that object. */
const Returner = class {
  constructor(object: object) {
    // oxlint-disable-next-line no-constructor-return -- that is its purpose
    return object;
  }
};

type Accessor = (...args: unknown[]) => unknown;

function isAccessor(value: unknown): value is Accessor {
  return typeof value === "function";
}

function accessorAt(list: unknown, index: number): Accessor {
  const accessor: unknown = Array.isArray(list) ? list[index] : undefined;
  return isAccessor(accessor) ? accessor : () => [];
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function privateAccess(code: CodeData, made: object, statics: unknown[]): PrivateAccess | undefined {
  const { privateFields: fields, privateMethods, privateStatics, base } = code;
  if (fields.length + privateMethods.length + privateStatics.length === 0) return undefined;
  const access: unknown = Reflect.get(made, `${base}access`);
  const [has, install, read, write] = [0, 1, 2, 3].map((index) => accessorAt(access, index));
  return {
    fields,
    methods: privateMethods.filter(({ role }) => role === "value").map(({ name }) => name),
    hasInstanceMembers: fields.length + privateMethods.length > 0,
    statics: privateStatics,
    has: (object) => has?.(object) === true,
    install: (object) => void install?.(object),
    read: (object) => listOf(read?.(object)),
    write: (object, values) => void write?.(object, values),
    readStatic: () => listOf(accessorAt(statics, 0)()),
    writeStatic: (values) => void accessorAt(statics, 1)(values),
  };
}

function objectAt(holder: object, key: string): object {
  const value: unknown = Reflect.get(holder, key);
  if (typeof value !== "function") throw new TypeError("the code of a class is malformed");
  return value;
}

/** Removes a private method from the prototype that it was defined on, and returns it. */
function extractMethod(cls: object, symbol: symbol, role: "value" | "get" | "set" | undefined): unknown {
  const prototype = objectAtPrototype(cls);
  const descriptor = Reflect.getOwnPropertyDescriptor(prototype, symbol);
  Reflect.deleteProperty(prototype, symbol);
  const method: unknown = descriptor?.[role ?? "value"];
  if (typeof method === "function") {
    const prefix = role === "value" || role === undefined ? "" : `${role} `;
    Object.defineProperty(method, "name", { value: `${prefix}${symbol.description ?? ""}`, configurable: true });
  }
  return method;
}

function objectAtPrototype(cls: object): object {
  const prototype: unknown = Reflect.get(cls, "prototype");
  if (typeof prototype !== "object" || prototype === null) throw new TypeError("the code of a class is malformed");
  return prototype;
}

/** The only member of an object literal. */
function methodOf(holder: object): object {
  for (const key of Reflect.ownKeys(holder)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, key);
    const method: unknown = descriptor?.value ?? descriptor?.get ?? descriptor?.set;
    if (typeof method === "function") return method;
  }
  throw new TypeError("the code of a method is malformed");
}

function importMeta(url: string): object {
  const path = pathOf(url);
  return Object.assign(Object.create(null), {
    ...(path === undefined ? {} : { dirname: dirname(path), filename: path }),
    url,
    resolve: (specifier: string): string => {
      if (/^\.{0,2}\//.test(specifier)) return new URL(specifier, url).href;
      const resolved = createRequire(path ?? fileURLToPath(new URL("shipped.mjs", url))).resolve(specifier);
      return resolved.startsWith("/") ? pathToFileURL(resolved).href : resolved;
    },
  });
}
