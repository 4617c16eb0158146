import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PoolClosed, routine, TaskTimeout, WoolError, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";
import { runProgram } from "../../support/run-program.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

class AppError extends Error {
  override name = "AppError";
  readonly details: { readonly at: Date };

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.details = { at: new Date(5) };
  }
}

class NotFound extends AppError {
  override name = "NotFound";
  readonly id: number;

  constructor(id: number) {
    super(`no item ${id}`);
    this.id = id;
  }

  get isMissing(): boolean {
    return true;
  }
}

const throwIt = routine(async (make: () => unknown): Promise<never> => {
  throw make();
});

async function thrown(make: () => unknown): Promise<unknown> {
  return await throwIt(make).then(
    () => "nothing was thrown",
    (error: unknown) => error,
  );
}

/** The lines of this file that a stack names. */
function linesHere(stack: string | undefined): number[] {
  const frames = (stack ?? "").split("\n").filter((line) => line.includes("errors.test.ts"));
  return frames.map((frame) => Number(/:(\d+):\d+\)?$/.exec(frame)?.[1]));
}

describe("what a routine throws arrives as what it threw", () => {
  test.each([
    ["Error", () => new Error("plain")],
    ["TypeError", () => new TypeError("type")],
    ["RangeError", () => new RangeError("range")],
    ["SyntaxError", () => new SyntaxError("syntax")],
    ["EvalError", () => new EvalError("eval")],
    ["URIError", () => new URIError("uri")],
    ["ReferenceError", () => new ReferenceError("reference")],
    ["DOMException", () => new DOMException("quota", "QuotaExceededError")],
  ])("a built-in %s", async (_name, make) => {
    const expected = make();
    const error = await thrown(make);
    expect(error).toBeInstanceOf(expected.constructor);
    expect(error).toMatchObject({ name: expected.name, message: expected.message });
  });

  test("an instance of a class of one's own, up its whole hierarchy, with its fields", async () => {
    const error = await thrown(() => new NotFound(7));
    for (const type of [NotFound, AppError, Error]) expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({
      name: "NotFound",
      message: "no item 7",
      id: 7,
      details: { at: new Date(5) },
      isMissing: true,
    });
    expect((error as object).constructor).toBe(NotFound);
  });

  test("own properties, also on plain errors", async () => {
    const error = await thrown(() => Object.assign(new Error("with extras"), { code: "E_EXTRA", list: [1, 2] }));
    expect(error).toMatchObject({ code: "E_EXTRA", list: [1, 2] });
    expect(Object.keys(error as object).sort()).toEqual(["code", "list"]);
  });

  test("a cause, however deep", async () => {
    const error = await thrown(
      () => new AppError("outer", { cause: new TypeError("middle", { cause: new NotFound(1) }) }),
    );
    expect(error).toMatchObject({
      message: "outer",
      cause: { message: "middle", cause: { message: "no item 1", id: 1 } },
    });
    const { cause } = error as { cause: { cause: unknown } };
    expect(cause).toBeInstanceOf(TypeError);
    expect(cause.cause).toBeInstanceOf(NotFound);
    expect(Object.keys(error as object)).not.toContain("cause");
  });

  test("an AggregateError with its errors", async () => {
    const error = await thrown(() => new AggregateError([new NotFound(1), "text", new RangeError("r")], "several"));
    expect(error).toBeInstanceOf(AggregateError);
    const { errors, message } = error as AggregateError;
    expect(message).toBe("several");
    expect(errors[0]).toBeInstanceOf(NotFound);
    expect(errors[1]).toBe("text");
    expect(errors[2]).toBeInstanceOf(RangeError);
  });

  test.each([
    ["a string", "just text"],
    ["undefined", undefined],
    ["null", null],
    ["a number", 42],
    ["an object", { reason: ["because"] }],
  ])("%s", async (_name, value) => {
    expect(await thrown(() => value)).toEqual(value);
  });

  test("an error whose stack or message was changed", async () => {
    const error = await thrown(() => {
      const changed = new Error("before");
      changed.message = "after";
      delete changed.stack;
      return changed;
    });
    expect(error).toMatchObject({ message: "after" });
    expect(error).toBeInstanceOf(Error);
  });

  test("errors of the runtime, from nested calls", async () => {
    const slow = routine(async () => await new Promise<never>(() => undefined));
    const impatient = routine(async () => await slow.with({ timeout: 10 })());
    const error = await impatient().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TaskTimeout);
    expect(error).toBeInstanceOf(WoolError);
    expect(error).toMatchObject({ code: "WOOL_TASK_TIMEOUT", name: "TaskTimeout" });
    expect(await thrown(() => new PoolClosed("closed there"))).toBeInstanceOf(PoolClosed);
  });

  test("errors can be results and arguments as well", async () => {
    const describeError = routine(async (error: NotFound) => [error instanceof NotFound, error.message, error.id]);
    expect(await describeError(new NotFound(3))).toEqual([true, "no item 3", 3]);
    const make = routine(async () => new NotFound(4));
    expect(await make()).toBeInstanceOf(NotFound);
  });
});

/** The line of this file that calls this function. */
function lineHere(): number {
  const [, caller] = linesHere(new Error("here").stack);
  return caller ?? 0;
}

describe("stacks", () => {
  const failsAt = lineHere() + 2;
  const fail = routine(async function fail(): Promise<never> {
    throw new AppError("with a stack");
  });
  const callsAt = lineHere() + 3;
  const failLater = routine(async function failLater(): Promise<never> {
    await new Promise((resolve) => setImmediate(resolve));
    return await fail();
  });
  const stepFailsAt = lineHere() + 3;
  const failStep = routine(async function* failStep() {
    yield 1;
    throw new AppError("in a step");
  });

  test("show the line in the test file that threw, and then the line that called", async () => {
    const line = lineHere() + 1;
    const error: unknown = await fail().catch((reason: unknown) => reason);
    const stack = (error as Error).stack;
    expect(stack).toMatch(/^AppError: with a stack\n/);
    expect(linesHere(stack)).toEqual([failsAt, line]);
    expect(stack).toMatch(/at (async )?fail /);
  });

  test("show every level of nested calls in order", async () => {
    const line = lineHere() + 1;
    const error: unknown = await failLater().catch((reason: unknown) => reason);
    const stack = (error as Error).stack ?? "";
    expect(linesHere(stack)).toEqual([failsAt, callsAt, line]);
    expect(stack.indexOf("fail ")).toBeLessThan(stack.indexOf("failLater"));
  });

  test("show where a step of a generator was asked for", async () => {
    const stream = failStep();
    await stream.next();
    const line = lineHere() + 1;
    const error: unknown = await stream.next().catch((reason: unknown) => reason);
    expect(linesHere((error as Error).stack)).toEqual([stepFailsAt, line]);
    expect((error as Error).stack).toContain("failStep");
  });

  test("keep what the runtime does in between out of sight", async () => {
    const error: unknown = await fail().catch((reason: unknown) => reason);
    const frames = ((error as Error).stack ?? "").split("\n").filter((line) => line.trim().startsWith("at "));
    const own = [new URL("../../../dist/", import.meta.url).href, "/src/", "node:internal/process"];
    expect(frames.filter((frame) => own.some((path) => frame.includes(path)))).toEqual([]);
  });

  test("of calls that fail before they are sent show where they were made", async () => {
    const line = lineHere() + 1;
    const error: unknown = await throwIt(new WeakRef({}) as never).catch((reason: unknown) => reason);
    expect(linesHere((error as Error).stack)).toContain(line);
  });
});

test.each([[], ["--enable-source-maps"]])(
  "the stack of a refused argument begins at the call (%s)",
  async (...execArgv) => {
    const { stdout, stderr } = await runProgram("lifecycle/refused-argument.mjs", { execArgv });
    expect(stderr).toBe("");
    expect(stdout.split("\n")[0]).toMatch(/^SerializationError: args\[0\]/);
    expect(stdout.split("\n")[1]).toMatch(/at (?:async )?passIt /);
  },
);
