import type { PlainData } from "./shipment.ts";

/** A piece of code as it travels: the same for all functions made at the same place. */
export interface CodeData {
  readonly kind: "code";
  readonly form: "expression" | "method" | "class";
  readonly text: string;
  readonly isStrict: boolean;
  /** Names of the captured variables, in the order of the parts that fill them. */
  readonly slots: readonly string[];
  /** Begins every name that was put into the text; no name of the user's begins like it. */
  readonly base: string;
  /** As V8 knows the source, so that stack traces read the same. */
  readonly url: string;
  /** Relative to the root of the project; empty when it is outside. */
  readonly file: string;
  /** Where the text starts, from 0. */
  readonly line: number;
  readonly column: number;
}

/** Names that the text of a piece of code may use beside the user's own; each is `base` and one letter. */
export const INSERTED = {
  importer: "i",
  meta: "m",
  arguments: "a",
  receiver: "t",
  superclass: "s",
  keys: "k",
  hydration: "h",
  privates: "p",
  method: "n",
} as const;

/** Code data as plain data. */
export function toPlain(code: CodeData): PlainData {
  return { ...code };
}

/** Checks what a peer sent as code. Throws a `TypeError` when it is not. */
export function toCodeData(data: PlainData): CodeData {
  if (!isRecord(data)) throw new TypeError("the code of a function is malformed");
  const { form, text, isStrict, slots, base, url, file, line, column } = data;
  if (
    (form !== "expression" && form !== "method" && form !== "class") ||
    typeof text !== "string" ||
    typeof isStrict !== "boolean" ||
    !isStringList(slots) ||
    typeof base !== "string" ||
    typeof url !== "string" ||
    typeof file !== "string" ||
    typeof line !== "number" ||
    typeof column !== "number"
  ) {
    throw new TypeError("the code of a function is malformed");
  }
  return { kind: "code", form, text, isStrict, slots, base, url, file, line, column };
}

/** True for an object of plain data. */
export function isRecord(data: PlainData | undefined): data is { readonly [key: string]: PlainData } {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

/** True for a list of strings. */
export function isStringList(data: PlainData | undefined): data is readonly string[] {
  return Array.isArray(data) && data.every((item) => typeof item === "string");
}
