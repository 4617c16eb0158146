import { runInThisContext } from "node:vm";
import { beforeEach, describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { fromCaller, RemoteFailure, rejectAtCallSite, throwAtCallSite } from "./remote-failure.ts";

/** Promises like those of a call and of a step of a generator. They fail later. */
const FAILING = {
  rejectAtCallSite: (failure: unknown): Promise<unknown> =>
    new Promise<unknown>((resolve) => setImmediate(() => rejectAtCallSite(resolve, undefined, failure))),
  throwAtCallSite: (failure: unknown): Promise<unknown> =>
    new Promise<never>((_, reject) => setImmediate(() => reject(failure))).then(undefined, throwAtCallSite),
};

/** Code of a file outside of the runtime. */
function userCode(text: string): (fn: (value: unknown) => unknown, value: unknown) => unknown {
  return runInThisContext(`(${text})`, { filename: "/user/code.js" }) as ReturnType<typeof userCode>;
}

let call = FAILING.throwAtCallSite;

async function theUsersFunction(failure: unknown): Promise<unknown> {
  const code = userCode("async function theUsersFunction(call, failure) { return await call(failure); }");
  return await code(call, failure);
}

async function caught(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );
}

function remoteError(): Error {
  const error = new RangeError("x");
  error.stack = "RangeError: x\n    at remote (file:///worker/code.mjs:1:1)";
  return error;
}

describe.each(["throwAtCallSite", "rejectAtCallSite"] as const)("%s", (name) => {
  beforeEach(() => {
    call = FAILING[name];
  });

  it("adds where the call was made behind where it failed", async () => {
    const error = remoteError();
    expect(await caught(theUsersFunction(new RemoteFailure(error)))).toBe(error);
    const lines = error.stack?.split("\n") ?? [];
    expect(lines.slice(0, 2)).toEqual(["RangeError: x", "    at remote (file:///worker/code.mjs:1:1)"]);
    expect(lines.slice(2).join("\n")).toContain("theUsersFunction");
    expect(error.stack).not.toContain("node:internal");
    expect(error.stack).not.toContain("AtCallSite");
  });

  it("adds one place to an error that many calls fail with", async () => {
    const error = remoteError();
    await caught(theUsersFunction(new RemoteFailure(error)));
    const { stack } = error;
    await caught(theUsersFunction(new RemoteFailure(error)));
    expect(error.stack).toBe(stack);
  });

  it("passes on what is no error as it is", async () => {
    for (const thrown of ["text", undefined, null, { stack: "mine" }]) {
      expect(await caught(call(new RemoteFailure(thrown)))).toBe(thrown);
    }
  });

  it("leaves failures alone that are not remote", async () => {
    const error = remoteError();
    const stack = error.stack;
    expect(await caught(theUsersFunction(error))).toBe(error);
    expect(error.stack).toBe(stack);
  });

  it("gives an error without a stack one, and takes a frozen one", async () => {
    const bare = new RangeError("x");
    Object.defineProperty(bare, "stack", { value: undefined, writable: true, configurable: true });
    await caught(theUsersFunction(new RemoteFailure(bare)));
    expect(bare.stack).toMatch(/^RangeError: x\n {4}at /);
    const frozen = Object.freeze(remoteError());
    expect(await caught(theUsersFunction(new RemoteFailure(frozen)))).toBe(frozen);
  });
});

describe("fromCaller", () => {
  it("shows where the user is, with as many frames as ever", () => {
    const error = new InvalidArgument("x");
    error.stack = "InvalidArgument: x\n    at deep (inside)";
    const limit = Error.stackTraceLimit;
    const theUsersCode = userCode("function theUsersCode(fromCaller, error) { return fromCaller(error); }");
    expect(theUsersCode(fromCaller, error)).toBe(error);
    expect(Error.stackTraceLimit).toBe(limit);
    expect(error.stack).toMatch(/^InvalidArgument: x\n {4}at theUsersCode/);
    expect(error.stack).not.toContain("inside");
    expect(error.stack.split("\n").length).toBeLessThanOrEqual(limit + 1);
  });

  it("leaves errors of others alone", () => {
    const error = remoteError();
    const stack = error.stack;
    expect(fromCaller(error)).toBe(error);
    expect(error.stack).toBe(stack);
    expect(fromCaller("text")).toBe("text");
  });
});
