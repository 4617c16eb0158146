import inspector from "node:inspector";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { asOneCapture } from "../engine/index.ts";
import { continued, counting, ended, resumed, running, shared } from "../fixtures/modules/makers.mjs";
import { dismantle } from "./dismantle.ts";
import { functionState, stability } from "./stability.ts";

type Read = () => number;

const travels = (read: Read): unknown => dismantle(read).parts[0];

describe("a variable that only the code that declares it assigns to", () => {
  it("is read again while that code runs, and not after that", () => {
    const seen: unknown[] = [];
    const read = running((each) => seen.push(travels(each), stability(each)));
    expect(seen).toEqual([1, "reread", 2, "reread"]);
    expect([travels(read), stability(read)]).toEqual([2, "constant"]);
    expect([travels(ended()), stability(ended(3))]).toEqual([1, "constant"]);
  });

  it("is read again while that code may be resumed", async () => {
    const steps = resumed();
    const read = steps.next().value ?? ended();
    expect([travels(read), stability(read)]).toEqual([1, "reread"]);
    steps.next();
    expect([travels(read), stability(read)]).toEqual([2, "reread"]);
    const waiting: Read[] = [];
    const done = continued((each) => waiting.push(each), Promise.resolve());
    const [first = ended()] = waiting;
    expect([travels(first), stability(first)]).toEqual([1, "reread"]);
    await done;
    expect([travels(first), stability(first)]).toEqual([2, "reread"]);
  });

  it("is read again if other code assigns to it, too", () => {
    const [read, raise] = shared();
    expect([stability(read), stability(raise)]).toEqual(["reread", "reread"]);
  });

  it("leaves the settings of stack traces as they are", () => {
    const before = [Error.stackTraceLimit, Object.hasOwn(Error, "prepareStackTrace"), Error.prepareStackTrace];
    stability(running());
    expect([Error.stackTraceLimit, Object.hasOwn(Error, "prepareStackTrace"), Error.prepareStackTrace]).toEqual(before);
  });
});

describe("a variable that a function assigns to", () => {
  const isSame = ({ variables }: ReturnType<typeof functionState>): boolean | undefined =>
    variables?.every(({ read, value }) => Object.is(read(), value));

  /** The commands that the engine gets meanwhile. */
  function commands(body: () => void): string[] {
    const post = vi.spyOn(inspector.Session.prototype, "post");
    try {
      body();
      return post.mock.calls.map(([method]) => String(method));
    } finally {
      post.mockRestore();
    }
  }

  it("shows a change without the debugger, until it was asked for often", async () => {
    dismantle(counting());
    await setImmediate();
    const count = counting();
    const state = functionState(count);
    const sent = commands(() => {
      for (let times = 0; times < 40; times++) expect(isSame(state)).toBe(true);
    });
    expect(sent).not.toContain("Debugger.enable");
    expect(commands(() => void Array.from({ length: 20 }, () => isSame(state)))).toContain("Debugger.enable");
    expect(commands(() => expect(isSame(state)).toBe(true))).toEqual([]);
    count();
    expect(isSame(state)).toBe(false);
    expect(isSame(functionState(count))).toBe(true);
  });

  it("shows a change before there are accessors", () => {
    const count = counting();
    const state = functionState(count);
    expect(isSame(state)).toBe(true);
    count();
    expect(isSame(state)).toBe(false);
  });

  it("is not asked for in a capture with many such functions", async () => {
    dismantle(counting());
    await setImmediate();
    const states = asOneCapture(() => Array.from({ length: 12 }, () => functionState(counting())));
    expect(states.map(isSame)).toEqual(states.map((_, index) => (index < 8 ? true : undefined)));
  });
});
