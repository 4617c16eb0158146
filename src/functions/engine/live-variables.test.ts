import { expect, test } from "vitest";
import { type CodeSite, siteAt } from "./code-site.ts";
import { viewFunction } from "./function-views.ts";
import { withFreshDebugger } from "./inspector-session.ts";
import { liveVariables, outerReceiver } from "./live-variables.ts";
import { asOneCapture, markVariable } from "./variable-marks.ts";

function siteOf(fn: object): CodeSite {
  const { location } = viewFunction(fn);
  const site = location === undefined ? undefined : siteAt(location, /^class\b/.test(String(fn)));
  if (site === undefined) throw new Error("the source was not found");
  return site;
}

let ran: string[] = [];

function makeCounter(): { up: () => number; get: () => number; later: () => Promise<number>; down(by?: number): void } {
  let count = 0;
  return {
    up: () => {
      ran.push("up");
      count += 1;
      return count;
    },
    get: () => count,
    later: async () => {
      ran.push("later");
      count += 1;
      return count;
    },
    down(by = ran.push("default")) {
      ran.push("down");
      count -= by;
    },
  };
}

test("reads and assigns the variables of a function as they are, and runs nothing of it", () => {
  ran = [];
  for (const key of ["up", "get", "later", "down"] as const) {
    const counter = makeCounter();
    const fn = counter[key];
    const variable = liveVariables(fn, siteOf(fn), ["count"])?.get("count");
    expect(variable?.get(), key).toBe(0);
    expect(ran, key).toEqual([]);
    counter.up();
    expect(variable?.get(), key).toBe(1);
    variable?.set(41);
    expect(counter.get(), key).toBe(41);
    ran = [];
  }
});

test("runs nothing of functions with defaults, and none of the defaults", () => {
  let count = 0;
  const held = {
    get count() {
      ran.push("getter");
      return count;
    },
  };
  const functions: readonly object[] = [
    (_first: unknown, by = count) => ran.push(`identifier ${(count += by)}`),
    (by = held.count) => ran.push(`member ${(count += by)}`),
    (_by = {}, _more = []) => ran.push(`literals ${(count += 1)}`),
    (by = 1, ..._rest: unknown[]) => ran.push(`rest ${(count += by)}`),
    async (by = -1) => ran.push(`call ${(count += by)}`),
    (by = ran.push("default")) => ran.push(`call ${(count += by)}`),
    ({ by = 1 } = {}) => ran.push(`pattern ${(count += by)}`),
    ([first, { by = held.count }]: [unknown, { by?: number }], { more: [second = {}] = [], ...rest } = { more: [1] }) =>
      ran.push(`nested ${[first, second, rest, (count += by)].length}`),
    ({ by = ran.push("default") }) => ran.push(`pattern with a call ${(count += by)}`),
  ];
  ran = [];
  for (const fn of functions) {
    const variable = liveVariables(fn, siteOf(fn), ["count"])?.get("count");
    expect(variable?.get(), String(fn)).toBe(0);
    expect(ran).toEqual([]);
  }
});

test("runs nothing of a function when the debugger was off since another one of its place was entered", () => {
  class Owner {
    readonly run = (): number => ran.push(typeof this);
  }
  const owners = [new Owner(), new Owner(), new Owner()];
  ran = [];
  asOneCapture(() => {
    for (const owner of owners) {
      expect(outerReceiver(owner.run, siteOf(owner.run))?.value).toBe(owner);
      withFreshDebugger(() => undefined);
    }
  });
  expect(ran).toEqual([]);
});

test("reaches the variables of generators and classes", () => {
  ran = [];
  let variable = 1;
  function* generator(): Generator<unknown> {
    yield [ran.push("generator"), variable];
  }
  class Made {
    field = ran.push("field");
    constructor() {
      variable += 1;
    }
  }
  for (const fn of [generator, Made]) {
    variable = 5;
    const live = liveVariables(fn, siteOf(fn), ["variable"])?.get("variable");
    expect(live?.get()).toBe(5);
    variable = 6;
    expect(live?.get()).toBe(6);
  }
  expect(ran).toEqual([]);
});

test("a mark shows in every function that shares the variable, and is gone after the capture", () => {
  const [one, two] = [makeCounter(), makeCounter()];
  const owner = {};
  asOneCapture(() => {
    const variable = liveVariables(one.up, siteOf(one.up), ["count"])?.get("count");
    if (variable === undefined) throw new Error("the function was not entered");
    expect(markVariable(variable, owner)).toBe(true);
    expect(variable.get()).toBe(0);
    const marks = [one.get, two.get].map((fn) =>
      viewFunction(fn).scopes.map(({ mark, variables }) => [mark, variables["count"]]),
    );
    expect(marks[0]?.[0]).toEqual([owner, 0]);
    expect(marks[1]?.[0]).toEqual([undefined, 0]);
  });
  expect(one.get()).toBe(0);
  expect(one.up()).toBe(1);
});

test("a variable that is not initialised yet is not marked", () => {
  const read = (): unknown => late;
  const variable = liveVariables(read, siteOf(read), ["late"])?.get("late");
  expect(variable === undefined ? undefined : markVariable(variable, {})).toBe(false);
  const late = 1;
  expect(read()).toBe(1);
});
