import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Dispatcher, isDispatcher } from "./dispatcher.ts";
import {
  addOpenDispatcher,
  currentDispatcher,
  currentFrame,
  removeOpenDispatcher,
  runInFrame,
  runWithFrame,
} from "./frame.ts";
import { currentTask, type Task } from "./task.ts";

function dispatcher(): Dispatcher {
  return {
    call: () => Promise.resolve(),
    stream: async function* () {},
  };
}

const opened: Dispatcher[] = [];

function open(): Dispatcher {
  const made = dispatcher();
  addOpenDispatcher(made);
  opened.push(made);
  return made;
}

afterEach(() => {
  for (const made of opened.splice(0)) removeOpenDispatcher(made);
  vi.resetModules();
});

describe("scopes", () => {
  it("there is none at first", () => {
    expect(currentFrame()).toBeUndefined();
    expect(currentTask()).toBeUndefined();
    expect(currentDispatcher(currentFrame())).toBeUndefined();
  });

  it("change what they say and keep the rest", () => {
    const [outer, inner] = [dispatcher(), dispatcher()];
    const variables = new Map([["a", 1]]);
    runInFrame({ dispatcher: outer, variables }, () => {
      runInFrame({ dispatcher: inner }, () => {
        expect(currentFrame()).toEqual({ dispatcher: inner, variables });
      });
      expect(currentFrame()).toEqual({ dispatcher: outer, variables });
    });
    expect(currentFrame()).toBeUndefined();
  });

  it("a frame given whole keeps nothing of the one around it", () => {
    runInFrame({ dispatcher: dispatcher(), variables: new Map() }, () => {
      const frame = {};
      runWithFrame(frame, () => expect(currentFrame()).toBe(frame));
    });
  });

  it("give back what the function gives, and pass arguments", () => {
    expect(runWithFrame({}, (a: number, b: number) => a - b, 5, 3)).toBe(2);
    expect(runInFrame({}, () => "x")).toBe("x");
  });

  it("are left when the function throws", () => {
    expect(() =>
      runInFrame({ ambient: { timeout: 1 } }, () => {
        throw new RangeError("x");
      }),
    ).toThrow(RangeError);
    expect(currentFrame()).toBeUndefined();
  });

  it("follow asynchronous code, each its own", async () => {
    const seen = await Promise.all(
      [1, 2, 3].map((timeout) =>
        runInFrame({ ambient: { timeout } }, async () => {
          await turn();
          return currentFrame()?.ambient?.timeout;
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
    };
    expect(runInFrame({ task }, currentTask)).toBe(task);
    expect(runInFrame({ task }, () => runInFrame({ ambient: {} }, currentTask))).toBe(task);
  });

  it("are shared with another copy of the package", async () => {
    vi.resetModules();
    const copy: typeof import("./frame.ts") = await import("./frame.ts");
    expect(copy.currentFrame).not.toBe(currentFrame);
    const made = open();
    expect(copy.currentDispatcher(undefined)).toBe(made);
    copy.runInFrame({ ambient: { timeout: 7 } }, () => expect(currentFrame()?.ambient?.timeout).toBe(7));
  });
});

describe("open dispatchers", () => {
  it("the scope's own wins over any that is open", () => {
    open();
    const own = dispatcher();
    expect(currentDispatcher({ dispatcher: own })).toBe(own);
  });

  it("the newest open one is used, in whatever order they are closed", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant("open" as const), fc.nat(9))), (steps) => {
        const model: Dispatcher[] = [];
        for (const step of steps) {
          if (step === "open") {
            const made = dispatcher();
            addOpenDispatcher(made);
            model.push(made);
          } else {
            const [closed] = model.splice(step, 1);
            if (closed !== undefined) removeOpenDispatcher(closed);
          }
          expect(currentDispatcher(undefined)).toBe(model.at(-1));
          expect(currentDispatcher({})).toBe(model.at(-1));
        }
        for (const left of model) removeOpenDispatcher(left);
      }),
    );
  });

  it("closing one that is not open changes nothing", () => {
    const made = open();
    removeOpenDispatcher(dispatcher());
    expect(currentDispatcher(undefined)).toBe(made);
  });
});

describe("isDispatcher", () => {
  it("asks for call and stream", () => {
    expect(isDispatcher(dispatcher())).toBe(true);
    for (const value of [null, undefined, 1, {}, { call: () => 1 }, { call: 1, stream: 1 }, () => 1]) {
      expect(isDispatcher(value)).toBe(false);
    }
  });
});
