import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { currentCallContext, extendCallContext } from "../routine/call-context.ts";
import { runtimeContext } from "./runtime-context.ts";

const ambient = () => currentCallContext()?.ambient;

describe("runtimeContext", () => {
  it("sets options for what is called inside, and gives back what that gives", async () => {
    expect(runtimeContext.run({ dispatchTimeout: 5 }, ambient)).toEqual({ dispatchTimeout: 5 });
    const later = runtimeContext.run({ dispatchTimeout: 6 }, async () => {
      await turn();
      return ambient();
    });
    expect(await later).toEqual({ dispatchTimeout: 6 });
    expect(ambient()).toBeUndefined();
  });

  it("scopes add up, the inner one wins", () => {
    const { signal } = new AbortController();
    const seen = runtimeContext.run({ dispatchTimeout: 5, signal }, () => [
      runtimeContext.run({ dispatchTimeout: 1 }, ambient),
      ambient(),
    ]);
    expect(seen).toEqual([
      { dispatchTimeout: 1, signal },
      { dispatchTimeout: 5, signal },
    ]);
  });

  it("keeps the rest of the context", () => {
    const variables = new Map([["a", 1]]);
    extendCallContext({ variables }, () => {
      runtimeContext.run({ dispatchTimeout: 1 }, () => expect(currentCallContext()?.variables).toBe(variables));
    });
  });

  it("refuses what is wrong", () => {
    const run = runtimeContext.run as (options: unknown, fn: () => void) => void;
    for (const options of [{ dispatchTimeout: -1 }, { signal: {} }, { timeout: 5 }, 5, null]) {
      expect(() => run(options, () => expect.unreachable())).toThrow(InvalidArgument);
    }
    expect(() => run({ dispatchTimout: 1 }, () => undefined)).toThrow(/runtimeContext\.run\(\).*dispatchTimeout/);
  });
});
