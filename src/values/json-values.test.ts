import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SerializationError } from "../errors.ts";
import { jsonErrors, jsonSerializer } from "./json-values.ts";
import { dumpWith } from "./serializer.ts";

function refused(value: unknown): SerializationError {
  try {
    dumpWith(jsonSerializer, value, "args");
  } catch (error) {
    if (error instanceof SerializationError) return error;
    throw error;
  }
  throw new Error("it was taken");
}

function thrownCopy(error: unknown): unknown {
  return jsonErrors.loads(jsonErrors.dumps(error));
}

/** Integers beyond 2^53 are refused. */
function hasSafeIntegers(value: unknown): boolean {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value !== "object" || value === null || Object.values(value).every(hasSafeIntegers);
}

describe("values as JSON", () => {
  it("arrive as they are when they are plain data", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }).filter(hasSafeIntegers), (value) => {
        const copy = jsonSerializer.loads(jsonSerializer.dumps(value));
        expect(copy).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each([
    [[Number.NaN], "args[0]", /NaN/],
    [[{ a: { b: 1n } }], "args[0].a.b", /bigint.*Pass it as text/],
    [[() => 1], "args[0]", /plain data/],
    [[new Date(0)], "args[0]", /toISOString/],
    [[{ list: [new Uint8Array(1)] }], "args[0].list[0]", /base64/],
    [[new Map()], "args[0]", /\[\.\.\.value\]/],
    [[undefined], "args[0]", /undefined.*Pass null/],
    [[Symbol("s")], "args[0]", /plain data/],
    [[new (class Point {})()], "args[0]", /Point/],
  ])("refuses %o and says where it is and what to do", (value, path, message) => {
    const error = refused(value);
    expect(error.path).toBe(path);
    expect(error.message).toMatch(message);
  });

  it("refuses cycles and depth without an end", () => {
    const cycle: unknown[] = [];
    cycle.push({ again: cycle });
    expect(refused([cycle]).message).toContain("args[0][0].again contains itself");
    let deep: unknown = 1;
    for (let i = 0; i < 20_000; i++) deep = { deep };
    expect(refused(deep).message).toContain("nested too deeply");
  });

  it("leaves properties that are undefined out", () => {
    expect(jsonSerializer.loads(jsonSerializer.dumps({ a: 1, b: undefined }))).toEqual({ a: 1 });
  });

  it("does not change an integer beyond 2^53 on arrival", () => {
    const loads = (text: string): unknown => jsonSerializer.loads(Buffer.from(text));
    expect(() => loads("[1152921504606846977]")).toThrow(/1152921504606846977 is beyond 2\^53/);
    expect(loads('["1152921504606846977", 9007199254740991, 1152921504606846977.5, 1e300]')).toHaveLength(4);
    expect(loads('"\\" 1152921504606846977 \\\\"')).toBe('" 1152921504606846977 \\');
  });
});

describe("what was thrown, as JSON", () => {
  it("arrives with its class, message, fields and cause", () => {
    const error = Object.assign(new RangeError("too far", { cause: new TypeError("why") }), { code: 7, at: [1] });
    const copy = thrownCopy(error);
    expect(copy).toBeInstanceOf(RangeError);
    expect(copy).toMatchObject({ message: "too far", code: 7, at: [1], name: "RangeError", stack: error.stack });
    expect((copy as Error).cause).toBeInstanceOf(TypeError);
  });

  it("keeps the name of a class that this process does not have, and the lines of its language", () => {
    const description = { name: "OutOfStock", message: "no tea", item: "tea", stack: "Traceback:\n  File shop.py\n" };
    const copy = jsonErrors.loads(Buffer.from(JSON.stringify(description)));
    expect(copy).toBeInstanceOf(Error);
    expect(copy).toMatchObject({ name: "OutOfStock", message: "no tea", item: "tea" });
    expect((copy as Error).stack).toMatch(/^OutOfStock: no tea\n {4}Traceback:\n {6}File shop\.py/);
  });

  it("leaves out a field that cannot travel", () => {
    const copy = thrownCopy(Object.assign(new Error("failed"), { request: { socket: () => 1 }, status: 500 }));
    expect(copy).toMatchObject({ message: "failed", status: 500 });
    expect(copy).not.toHaveProperty("request");
  });

  it("sets no prototype, whatever the fields are called", () => {
    const copy = jsonErrors.loads(Buffer.from('{"message":"m","__proto__":{"polluted":1}}')) as Error;
    expect(Object.getPrototypeOf(copy)).toBe(Error.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("is a value when it was no error", () => {
    expect(thrownCopy("text")).toBe("text");
    expect(thrownCopy([1, 2])).toEqual([1, 2]);
  });
});
