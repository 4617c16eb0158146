import { describe, expect, it } from "vitest";
import { isRuntimeLine, setStack, trimStack } from "./stack-lines.ts";

const OWN = new URL("./routine.ts", import.meta.url).href;

describe("isRuntimeLine", () => {
  it.each([
    `    at dispatch (${OWN}:10:5)`,
    `    at async ${OWN}:3:1`,
    "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
    "    at node:internal/timers:1:1",
    "    at AsyncLocalStorage.run (node:async_hooks:346:14)",
    "    at new Promise [nodejs.internal.kHybridDispatch] (x:1:1)",
  ])("%s", (line) => {
    expect(isRuntimeLine(line)).toBe(true);
  });

  it.each([
    "    at add (file:///srv/app/add.mjs:1:7)",
    "    at async file:///srv/app/main.mjs:3:1",
    "    at readFileSync (node:fs:441:20)",
    "    at <anonymous>",
    `Error: see ${OWN}`,
    "Error: cannot (node:internal thing)",
    "",
  ])("not %s", (line) => {
    expect(isRuntimeLine(line)).toBe(false);
  });
});

describe("trimStack", () => {
  it("leaves the message, of however many lines, and the user's lines", () => {
    const error = new Error("two\nlines");
    const kept = [
      "Error: two",
      "lines",
      "    at add (file:///srv/app/add.mjs:1:7)",
      "    at file:///srv/app/main.mjs:2:2",
    ];
    const [first, second, third, fourth] = kept;
    setStack(error, [first, second, third, `    at x (${OWN}:1:1)`, fourth, "    at node:internal/y:1:1"].join("\n"));
    trimStack(error);
    expect(error.stack).toBe(kept.join("\n"));
  });

  it("does the same with causes, and with errors that an error holds, however they refer to each other", () => {
    const make = (message: string): Error => {
      const error = new Error(message);
      setStack(error, `Error: ${message}\n    at x (${OWN}:1:1)\n    at file:///srv/app/main.mjs:2:2`);
      return error;
    };
    const [cause, held] = [make("cause"), make("held")];
    const error = Object.assign(make("outer"), { cause, errors: [held, 5] });
    cause.cause = error;
    trimStack(error);
    for (const reached of [error, cause, held]) {
      expect(reached.stack).toBe(`Error: ${reached.message}\n    at file:///srv/app/main.mjs:2:2`);
    }
  });

  it("leaves a stack without lines of the runtime alone", () => {
    const error = new Error("x");
    const stack = "Error: x\n    at file:///srv/app/main.mjs:2:2";
    Object.defineProperty(error, "stack", { value: stack, enumerable: true });
    trimStack(error);
    expect(Object.getOwnPropertyDescriptor(error, "stack")).toMatchObject({ value: stack, enumerable: true });
  });

  it("takes anything", () => {
    const strange = Object.assign(new Error("x"), { stack: 5 });
    const frozen = new Error("x");
    setStack(frozen, `Error: x\n    at x (${OWN}:1:1)`);
    Object.freeze(frozen);
    for (const value of [undefined, null, "text", { stack: "x" }, strange, frozen]) {
      expect(() => trimStack(value)).not.toThrow();
    }
    expect(strange.stack).toBe(5);
  });

  it("gives an error whose stack cannot be read another", () => {
    const named = Object.assign(new Error("x"), { name: Symbol.for("q") });
    const guarded = Object.defineProperty(new Error("x"), "stack", {
      get: () => {
        throw new RangeError("not me");
      },
      configurable: true,
    });
    for (const error of [named, guarded]) {
      trimStack(error);
      expect(error.stack).toBe("Error: x");
    }
  });

  it("takes what cannot be asked for anything", () => {
    const { proxy, revoke } = Proxy.revocable(new Error("x"), {});
    revoke();
    const fixed = Object.defineProperty(new Error("x"), "stack", {
      get: () => {
        throw new RangeError("not me");
      },
    });
    const untold = Object.assign(new Error("x"), { name: Symbol("q"), message: Object.create(null) as unknown });
    for (const value of [proxy, fixed, untold]) expect(() => trimStack(value)).not.toThrow();
  });
});

describe("setStack", () => {
  it("hides the stack as the engine does, so that it is not taken for a field", () => {
    const error = new Error("x");
    setStack(error, "mine");
    expect(error.stack).toBe("mine");
    expect(Object.keys(error)).toEqual([]);
    error.stack = "changed";
    expect(error.stack).toBe("changed");
  });
});
