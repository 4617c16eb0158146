import type { PlainData } from "./shipment.ts";

/** A private method or accessor of a class, defined under a separate symbol. */
export interface PrivateMethod {
  readonly name: string;
  readonly role: "value" | "get" | "set";
}

/** A piece of code as it travels: the same for all functions made at the same place. */
export interface CodeData {
  readonly kind: "code";
  readonly form: "expression" | "method" | "class";
  readonly text: string;
  readonly isStrict: boolean;
  /** An async function that never awaits. Its text begins with `async`. Without that word it does the same at once. */
  readonly isPrompt: boolean;
  /** Names of the captured variables, in the order of the parts that fill them. */
  readonly slots: readonly string[];
  /** The prefix of every name that was added to the text. No name of the user begins with it. */
  readonly base: string;
  /** The URL of the source in V8, so that stack traces are the same. */
  readonly url: string;
  /** Relative to the root of the project; empty when it is outside. */
  readonly file: string;
  /** Where the text starts, from 0. */
  readonly line: number;
  readonly column: number;
  /** For a class: its private instance fields, private instance methods, and private static fields. */
  readonly privateFields: readonly string[];
  readonly privateMethods: readonly PrivateMethod[];
  readonly privateStatics: readonly string[];
  /** For a class: the slots of each function that can only be made inside it. */
  readonly inner: readonly (readonly string[])[];
}

/** Names that the text of a piece of code may use besides the user's own; each is `base` and one letter. */
export const INSERTED = {
  importer: "i",
  meta: "m",
  arguments: "a",
  receiver: "t",
  superclass: "s",
  keys: "k",
  /** Returns the object it is given, for a class to extend. */
  returner: "r",
  /** The class that declares the private names of another. */
  outer: "o",
  /** The private methods of a class. */
  methods: "f",
  /** Reaches the private static fields of a class. */
  statics: "p",
  /** Makes the functions that can only be made inside a class. */
  inner: "q",
  method: "n",
} as const;

const ASYNC = "async";

/** The code without the word `async`, at the same place. */
export function withoutAsync(code: CodeData): CodeData {
  return { ...code, text: " ".repeat(ASYNC.length) + code.text.slice(ASYNC.length) };
}

/** Code data as plain data. */
export function toPlain(code: CodeData): PlainData {
  return { ...code, privateMethods: code.privateMethods.map((method) => ({ ...method })) };
}

function malformed(): TypeError {
  return new TypeError("the code of a function is malformed");
}

/** Checks code data from a peer. Throws a `TypeError` when it is malformed. */
export function toCodeData(data: PlainData): CodeData {
  if (!isRecord(data)) throw malformed();
  const { form, isStrict } = data;
  if ((form !== "expression" && form !== "method" && form !== "class") || typeof isStrict !== "boolean") {
    throw malformed();
  }
  const text = textIn(data, "text");
  return {
    kind: "code",
    form,
    isStrict,
    isPrompt: data["isPrompt"] === true && form === "expression" && text.startsWith(ASYNC),
    text,
    slots: namesIn(data, "slots"),
    base: textIn(data, "base"),
    url: textIn(data, "url"),
    file: textIn(data, "file"),
    line: numberIn(data, "line"),
    column: numberIn(data, "column"),
    privateFields: namesIn(data, "privateFields"),
    privateMethods: methodsIn(data["privateMethods"]),
    privateStatics: namesIn(data, "privateStatics"),
    inner: listsIn(data["inner"]),
  };
}

type PlainRecord = { readonly [key: string]: PlainData };

function textIn(data: PlainRecord, key: string): string {
  const value = data[key];
  if (typeof value !== "string") throw malformed();
  return value;
}

function numberIn(data: PlainRecord, key: string): number {
  const value = data[key];
  if (typeof value !== "number") throw malformed();
  return value;
}

function namesIn(data: PlainRecord, key: string): readonly string[] {
  const value = data[key];
  if (!isStringList(value)) throw malformed();
  return value;
}

function listsIn(data: PlainData | undefined): (readonly string[])[] {
  if (!Array.isArray(data)) throw malformed();
  return data.map((names) => {
    if (!isStringList(names)) throw malformed();
    return names;
  });
}

function methodsIn(data: PlainData | undefined): PrivateMethod[] {
  if (!Array.isArray(data)) throw malformed();
  return data.map((method) => {
    if (!isRecord(method)) throw malformed();
    const role = textIn(method, "role");
    if (role !== "value" && role !== "get" && role !== "set") throw malformed();
    return { name: textIn(method, "name"), role };
  });
}

/** True for an object of plain data. */
export function isRecord(data: PlainData | undefined): data is { readonly [key: string]: PlainData } {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

/** True for a list of strings. */
export function isStringList(data: PlainData | undefined): data is readonly string[] {
  return Array.isArray(data) && data.every((item) => typeof item === "string");
}
