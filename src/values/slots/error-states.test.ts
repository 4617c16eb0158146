import { AssertionError, strictEqual } from "node:assert";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { types } from "node:util";
import { describe, expect, it } from "vitest";
import { decode, encode } from "../codec.ts";

function copyOf<T>(value: T): T;
function copyOf(value: unknown): unknown {
  return decode(encode(value));
}

async function thrownBy(action: () => unknown): Promise<Error> {
  try {
    await action();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("Nothing was thrown.");
}

describe("errors", () => {
  it.each([Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError])("keeps a %o", (kind) => {
    const error = new kind("what happened", { cause: { why: 1 } });
    const copy = copyOf(error);
    expect(types.isNativeError(copy)).toBe(true);
    expect(Object.getPrototypeOf(copy)).toBe(kind.prototype);
    expect(Object.getOwnPropertyDescriptors(copy)).toEqual(Object.getOwnPropertyDescriptors(error));
    expect(Reflect.ownKeys(copy)).toEqual(Reflect.ownKeys(error));
    expect(copy.stack).toBe(error.stack);
  });

  it("keeps AggregateError with its errors and causes that lead back", () => {
    const error = new AggregateError([new TypeError("a"), "b"], "both");
    error.cause = error;
    const copy = copyOf(error);
    expect(copy).toBeInstanceOf(AggregateError);
    expect(copy.errors[0]).toBeInstanceOf(TypeError);
    expect(copy.errors[1]).toBe("b");
    expect(copy.cause).toBe(copy);
    expect(Object.keys(copy)).toEqual(Object.keys(error));
  });

  it("keeps the stack of an object that is no error, as what the engine makes of it", () => {
    const traced: { name: string; stack?: string } = { name: "traced" };
    Error.captureStackTrace(traced);
    const copy = copyOf(traced);
    expect(copy.stack).toBe(traced.stack);
    expect(Object.getOwnPropertyDescriptors(copy)).toEqual(Object.getOwnPropertyDescriptors(traced));
  });

  it("adds no property that the original does not have", () => {
    const error = new Error("bare");
    delete error.stack;
    const copy = copyOf(error);
    expect(Reflect.ownKeys(copy)).toEqual(["message"]);
    expect(types.isNativeError(copy)).toBe(true);
  });

  it("keeps own fields, an own name and a changed stack", () => {
    const error = Object.assign(new Error("x"), { code: "E_X", detail: new Map([[1, 2]]) });
    error.name = "Special";
    error.stack = "no stack";
    const copy = copyOf(error);
    expect(copy).toMatchObject({ code: "E_X", name: "Special", stack: "no stack" });
    expect(copy.detail).toEqual(new Map([[1, 2]]));
  });

  it("keeps DOMException with its code, cause and stack", () => {
    const error = new DOMException("stopped", "AbortError");
    const copy = copyOf(error);
    expect(copy).toBeInstanceOf(DOMException);
    expect([copy.name, copy.message, copy.code, copy.stack]).toEqual(["AbortError", "stopped", 20, error.stack]);
    expect(Object.prototype.hasOwnProperty.call(copy, "message")).toBe(false);
  });

  it("keeps what Node throws", async () => {
    const assertion = copyOf(await thrownBy(() => strictEqual(1, 2)));
    expect(assertion).toBeInstanceOf(AssertionError);
    expect(assertion).toMatchObject({ code: "ERR_ASSERTION", actual: 1, expected: 2 });
    const invalid = copyOf(await thrownBy(() => Buffer.alloc(-1)));
    expect(invalid).toBeInstanceOf(RangeError);
    expect(invalid).toMatchObject({ code: "ERR_OUT_OF_RANGE" });
  });

  it("keeps errors of classes that are internal to Node as what those classes extend", async () => {
    const aborted = copyOf(await thrownBy(() => delay(1, 0, { signal: AbortSignal.abort("enough") })));
    expect(types.isNativeError(aborted)).toBe(true);
    expect(aborted).toMatchObject({ name: "AbortError", code: "ABORT_ERR", cause: "enough" });
    const original = await thrownBy(() => rmSync(tmpdir()));
    const system = copyOf(original);
    expect(types.isNativeError(system)).toBe(true);
    expect(system).toMatchObject({
      name: original.name,
      message: original.message,
      code: "ERR_FS_EISDIR",
      syscall: "rm",
    });
  });
});
