import { types } from "node:util";
import { describeValue, isError } from "../checks/index.ts";
import { SerializationError } from "../errors.ts";
import type { Serializer } from "./serializer.ts";

/** The strings and numbers in JSON. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** An integer that `JSON.parse` may change. */
const LONG_INTEGER = /^-?\d{16,}$/;
/** No number that this runtime writes has more digits, or a sign and those. */
const MOST_DIGITS = 22;

const ERROR_CLASSES: ReadonlyMap<string, ErrorConstructor> = new Map(
  [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((type) => [type.name, type]),
);

/** The value encoding `json`, for peers in any language: plain data, and nothing else. */
export const jsonSerializer: Serializer = Object.freeze({
  dumps: (value: unknown) => dumpJson(value, "value"),
  loads: loadJson,
});

/** The same for thrown values: an error becomes an object with `name`, `message`, `stack` and its own fields. */
export const jsonErrors: Serializer = Object.freeze({
  dumps: (error: unknown) => dumpJson(describeThrown(error), "error"),
  loads: (bytes: Uint8Array) => makeThrown(loadJson(bytes)),
});

/** The serializer for thrown values that belongs to `serializer`. */
export function serializerOfThrown(serializer: Serializer | undefined): Serializer | undefined {
  return serializer === jsonSerializer ? jsonErrors : serializer;
}

/**
 * The bytes of plain data.
 *
 * @throws SerializationError for a value that JSON would lose or change, with the path to it
 */
export function dumpJson(value: unknown, rootName: string): Uint8Array {
  try {
    refuseUnlikeJson(value, rootName, []);
    return Buffer.from(JSON.stringify(value), "utf8");
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refusal(rootName, "is nested too deeply", "Send less at once.");
  }
}

function loadJson(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  for (const [token] of text.matchAll(TOKENS)) {
    if (LONG_INTEGER.test(token) && !isKept(token)) {
      const shown = token.length > MOST_DIGITS ? `${token.slice(0, MOST_DIGITS)}…` : token;
      throw new TypeError(`the integer ${shown} is beyond 2^53 and would be changed: send it as text`);
    }
  }
  return JSON.parse(text);
}

function isKept(integer: string): boolean {
  return integer.length <= MOST_DIGITS && BigInt(integer) === BigInt(Number(integer));
}

function refuseUnlikeJson(value: unknown, path: string, parents: readonly object[]): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    throw refusal(path, `is ${value}`, "Pass null, or the number as text.");
  }
  if (typeof value === "bigint") throw refusal(path, "is a bigint", "Pass it as text.");
  if (typeof value !== "object") throw refusal(path, `is ${describeValue(value)}`, "Pass plain data.");
  if (parents.includes(value)) throw refusal(path, "contains itself", "Pass data without cycles.");
  const within = [...parents, value];
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index];
      if (item === undefined) throw refusal(`${path}[${index}]`, "is undefined", "Pass null, or leave it out.");
      refuseUnlikeJson(item, `${path}[${index}]`, within);
    }
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw refusal(path, `is ${describeValue(value)}`, fixFor(value));
  }
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) refuseUnlikeJson(item, `${path}.${key}`, within);
  }
}

function fixFor(value: object): string {
  if (types.isDate(value)) return "Pass date.toISOString() or date.getTime().";
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
    return 'Pass the bytes as text, such as Buffer.from(bytes).toString("base64").';
  }
  if (types.isMap(value) || types.isSet(value)) return "Pass a list, such as [...value].";
  return "Pass a plain object with its fields.";
}

function refusal(path: string, what: string, fix: string): SerializationError {
  return new SerializationError(
    `${path} ${what}, and values for a worker in another language travel as JSON, which has no such value. ${fix}`,
    path,
  );
}

/** A field that JSON cannot carry is left out: the error arrives without it. */
function describeThrown(error: unknown): unknown {
  if (!isError(error)) return error;
  const description: Record<string, unknown> = {};
  const own = Object.entries(error).filter(([key]) => key !== "cause");
  for (const [key, value] of [
    ...own,
    ...(error.cause === undefined ? [] : [["cause", describeThrown(error.cause)]]),
  ] as [string, unknown][]) {
    try {
      refuseUnlikeJson(value, key, []);
      Object.defineProperty(description, key, { value, enumerable: true });
    } catch {
      // Left out.
    }
  }
  return { ...description, name: String(error.name), message: String(error.message), stack: String(error.stack ?? "") };
}

/** Makes an error of a description, with the class of its name where this process has it. */
function makeThrown(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("message" in value) || typeof value.message !== "string") {
    return value;
  }
  const { message } = value;
  const { name, message: _said, stack, cause, ...fields }: Record<string, unknown> = value;
  const known = typeof name === "string" && name !== "" ? name : "Error";
  const type = ERROR_CLASSES.get(known) ?? Error;
  const error = new type(message, cause === undefined ? undefined : { cause: makeThrown(cause) });
  if (error.name !== known) Object.defineProperty(error, "name", { value: known, configurable: true, writable: true });
  const head = `${known}: ${message}`;
  const lines = typeof stack === "string" && stack !== "" ? stack : head;
  const whole = lines.startsWith(head) ? lines : `${head}\n${lines.replaceAll(/^/gm, "    ")}`;
  Object.defineProperty(error, "stack", { value: whole, configurable: true, writable: true });
  for (const [key, item] of Object.entries(fields)) {
    Object.defineProperty(error, key, { value: item, configurable: true, enumerable: true, writable: true });
  }
  return error;
}
