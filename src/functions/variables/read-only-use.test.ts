import { describe, expect, it } from "vitest";
import { functionState } from "../index.ts";

/** Whether the code of a function only reads its captured data. */
function reads(fn: object): boolean {
  return functionState(fn).readOnly.size > 0;
}

interface Settings {
  scale: number;
  name?: string;
  nested: { limits: { most: number }; list: number[]; pairs: number[][] };
}

const make = (): { data: Settings; list: number[]; use: (...args: unknown[]) => unknown } => ({
  data: { scale: 2, nested: { limits: { most: 5 }, list: [1, 2], pairs: [[1, 2]] } },
  list: [3, 1, 2],
  use: (value) => value,
});

describe("code that only reads data", () => {
  const { data, list } = make();
  const key: string = "most";
  const cases: Record<string, object> = {
    "a property": (x: number) => x * data.scale,
    "a nested property": () => data.nested.limits.most + data.nested.list.length,
    "a computed property": () => data.nested.limits[key as "most"],
    "an optional chain": () => data?.nested?.limits?.most,
    "a method of a primitive value": () => data.scale.toFixed(2),
    "a property that is not there": () => data.name ?? "none",
    "an element": (i: number) => list[i],
    "a function inside": () => [1, 2].map((x) => x * data.scale),
    "methods that change nothing": () => [list.includes(1), list.join(), list.slice(1), list.indexOf(2), list.at(-1)],
    "methods that call a function": () => list.map((x, i) => x + i).concat(list.filter((x) => x > 1)),
    "a sum": () => list.reduce((sum, x) => sum + x, 0),
    "a loop over values": () => {
      let sum = 0;
      for (const x of list) sum += x;
      return sum;
    },
    "a loop over keys": () => {
      const keys: string[] = [];
      for (const each in data) keys.push(each);
      return keys;
    },
    spreading: () => Math.max(...list) + [...list].length,
    "spreading an object": () => ({ ...data.nested.limits }),
    destructuring: () => {
      const {
        scale,
        nested: {
          limits: { most },
        },
      } = data;
      return scale + most;
    },
    "functions of the language": () => [
      JSON.stringify(data),
      Object.keys(data),
      Object.entries(data.nested.limits),
      Object.hasOwn(data, "scale"),
      new Set(list),
      structuredClone(data),
    ],
    questions: () => [typeof data, !data, data === undefined, "scale" in data, data ? 1 : 2],
    "one of two": (other?: Settings) => (other ?? data).scale,
  };

  it.each(Object.entries(cases))("%s", (_, fn) => {
    expect(reads(fn)).toBe(true);
  });
});

describe("code that may change data, or lets it out", () => {
  const { data, list, use } = make();
  const key: string = "scale";
  const cases: Record<string, object> = {
    "returns it": () => data,
    "returns a part": () => data.nested,
    "returns an element that is an object": () => data.nested.pairs[0],
    "passes it on": () => use(data),
    "passes a part on": () => use(1, data.nested.limits),
    "passes it to its own function": () => ((x: Settings) => (x.scale = 1))(data),
    "keeps it elsewhere": () => {
      const copy = data;
      copy.scale = 1;
    },
    "keeps a part elsewhere": () => {
      const { nested } = data;
      nested.limits.most = 1;
    },
    "keeps the rest elsewhere": () => {
      const { scale: _, ...rest } = data;
      return rest;
    },
    assigns: () => {
      data.scale = 1;
    },
    "assigns to what is computed": () => {
      Object.assign(data, { [key]: 1 });
    },
    "assigns to an element": (i: number) => {
      list[i] = 1;
    },
    "assigns together": () => {
      [data.scale] = [1];
    },
    "assigns with a default": () => {
      ({ a: data.scale = 3 } = {} as { a?: number });
    },
    "assigns the rest": () => {
      [...data.nested.list] = [1];
    },
    "assigns in a loop": () => {
      for (data.scale of [1, 2]) use();
    },
    counts: () => data.scale++,
    "adds up": () => (data.scale += 1),
    deletes: () => delete data.name,
    "deletes in a chain": () => delete data?.name,
    pushes: () => list.push(1),
    "pushes to a part": () => data.nested.list.push(1),
    "calls a method by a computed name": () => (list as unknown as Record<string, (x: number) => number>)[key]?.(1),
    sorts: () => list.sort(),
    "sorts a copy, not": () => [list].map((each) => each.sort()),
    "gives the list to a callback": () => list.map((_x, _i, all) => all.push(1)),
    "gives the list to a callback with a rest": () => list.map((...args) => args),
    "gives the list to a callback of any kind": () => list.map(use),
    "gives the list to a function with arguments": () =>
      list.map(function () {
        // oxlint-disable-next-line prefer-rest-params -- that is what is tested
        return arguments;
      }),
    "gives it to a replacer": () => JSON.stringify(data, use as () => unknown),
    "loops over objects": () => {
      for (const pair of data.nested.pairs) pair.push(1);
    },
    "spreads objects": () => [...data.nested.pairs],
    "hands out objects": () => Object.values(data.nested),
    "sets the prototype": () => {
      // biome-ignore lint/suspicious/noExplicitAny: any spelling of it counts
      (data as { __proto__?: unknown }).__proto__ = null;
    },
    "defines a property": () => Object.defineProperty(data, "scale", { value: 1 }),
    "returns one of two": (other?: Settings) => other ?? data,
    "asks a class": (cls: { [Symbol.hasInstance]: (it: unknown) => boolean }) => data instanceof (cls as never),
    "calls a function of the same name": () => {
      const JSON = { stringify: use };
      return JSON.stringify(data);
    },
    "gives it to a generator": function* () {
      yield data;
    },
  };

  it.each(Object.entries(cases))("%s", (_, fn) => {
    expect(reads(fn)).toBe(false);
  });

  it("more than data", () => {
    const withMethod = { scale: 2, twice: () => 4 };
    const withGetter = {
      get scale() {
        return 2;
      },
    };
    const instance = new (class {
      scale = 2;
    })();
    const map = new Map([["scale", 2]]);
    expect(reads(() => withMethod.scale)).toBe(false);
    expect(reads(() => withGetter.scale)).toBe(false);
    expect(reads(() => instance.scale)).toBe(false);
    expect(reads(() => map.size)).toBe(false);
    expect(reads(() => new Proxy(data, {}).scale)).toBe(false);
  });

  it("a property of the function holds it, too", () => {
    const shown = { scale: 2 };
    const fn = Object.assign(() => shown.scale, { shown });
    const state = functionState(fn);
    expect([...state.readOnly]).toEqual([0]);
    expect(state.parts.filter((part) => part === shown)).toHaveLength(2);
  });
});
