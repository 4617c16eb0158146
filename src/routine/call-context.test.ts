import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type CallCarrier, isCallCarrier } from "./call-carrier.ts";
import {
  addOpenPool,
  currentCallContext,
  currentPool,
  extendCallContext,
  removeOpenPool,
  runInCallContext,
} from "./call-context.ts";
import { currentTask, type Task } from "./task.ts";

function carrier(): CallCarrier {
  return {
    call: () => Promise.resolve(),
    stream: async function* () {},
  };
}

const opened: CallCarrier[] = [];

function open(): CallCarrier {
  const made = carrier();
  addOpenPool(made);
  opened.push(made);
  return made;
}

afterEach(() => {
  for (const made of opened.splice(0)) removeOpenPool(made);
  vi.resetModules();
});

describe("scopes", () => {
  it("there is none at first", () => {
    expect(currentCallContext()).toBeUndefined();
    expect(currentTask()).toBeUndefined();
    expect(currentPool(currentCallContext())).toBeUndefined();
  });

  it("change what they say and keep the rest", () => {
    const [outer, inner] = [carrier(), carrier()];
    const variables = new Map([["a", 1]]);
    extendCallContext({ carrier: outer, variables }, () => {
      extendCallContext({ carrier: inner }, () => {
        expect(currentCallContext()).toEqual({ carrier: inner, variables });
      });
      expect(currentCallContext()).toEqual({ carrier: outer, variables });
    });
    expect(currentCallContext()).toBeUndefined();
  });

  it("a context given whole keeps nothing of the one around it", () => {
    extendCallContext({ carrier: carrier(), variables: new Map() }, () => {
      const context = {};
      runInCallContext(context, () => expect(currentCallContext()).toBe(context));
    });
  });

  it("give back what the function gives, and pass arguments", () => {
    expect(runInCallContext({}, (a: number, b: number) => a - b, 5, 3)).toBe(2);
    expect(extendCallContext({}, () => "x")).toBe("x");
  });

  it("are left when the function throws", () => {
    expect(() =>
      extendCallContext({ ambient: { timeout: 1 } }, () => {
        throw new RangeError("x");
      }),
    ).toThrow(RangeError);
    expect(currentCallContext()).toBeUndefined();
  });

  it("follow asynchronous code, each its own", async () => {
    const seen = await Promise.all(
      [1, 2, 3].map((timeout) =>
        extendCallContext({ ambient: { timeout } }, async () => {
          await turn();
          return currentCallContext()?.ambient?.timeout;
        }),
      ),
    );
    expect(seen).toEqual([1, 2, 3]);
  });

  it("name the task that is running", () => {
    const task: Task = {
      id: "a-1",
      caller: undefined,
      tag: "f@w",
      name: "f",
      deadline: undefined,
      signal: new AbortController().signal,
      exception: undefined,
      worker: "w",
      key: "k",
    };
    const seen = extendCallContext({ task }, currentTask);
    expect(extendCallContext({ task }, () => extendCallContext({ ambient: {} }, currentTask))).toBe(seen);
    expect({ ...seen, exception: undefined }).toEqual(task);
  });

  it("are shared with another copy of the package", async () => {
    vi.resetModules();
    const copy: typeof import("./call-context.ts") = await import("./call-context.ts");
    expect(copy.currentCallContext).not.toBe(currentCallContext);
    const made = open();
    expect(copy.currentPool(undefined)).toBe(made);
    copy.extendCallContext({ ambient: { timeout: 7 } }, () => expect(currentCallContext()?.ambient?.timeout).toBe(7));
  });
});

describe("open carriers", () => {
  it("the scope's own wins over any that is open", () => {
    open();
    const own = carrier();
    expect(currentPool({ carrier: own })).toBe(own);
  });

  it("the newest open one is used, in whatever order they are closed", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant("open" as const), fc.nat(9))), (steps) => {
        const model: CallCarrier[] = [];
        for (const step of steps) {
          if (step === "open") {
            const made = carrier();
            addOpenPool(made);
            model.push(made);
          } else {
            const [closed] = model.splice(step, 1);
            if (closed !== undefined) removeOpenPool(closed);
          }
          expect(currentPool(undefined)).toBe(model.at(-1));
          expect(currentPool({})).toBe(model.at(-1));
        }
        for (const left of model) removeOpenPool(left);
      }),
    );
  });

  it("closing one that is not open changes nothing", () => {
    const made = open();
    removeOpenPool(carrier());
    expect(currentPool(undefined)).toBe(made);
  });
});

describe("isCallCarrier", () => {
  it("asks for call and stream", () => {
    expect(isCallCarrier(carrier())).toBe(true);
    for (const value of [null, undefined, 1, {}, { call: () => 1 }, { call: 1, stream: 1 }, () => 1]) {
      expect(isCallCarrier(value)).toBe(false);
    }
  });
});
