import { describe, expect, it } from "vitest";
import { Cell, type Dismantled, isRecord, noteConstructor } from "../shipment/index.ts";
import { dismantle } from "./dismantle.ts";

type Plain = (value: number) => number;

const makers: Record<string, () => Plain> = {
  "an arrow function": () => {
    const factor = 2;
    return (value) => value * factor;
  },
  "a function that may construct": () => {
    const factor = 2;
    return function scaled(value) {
      return value * factor;
    };
  },
  "a bound function": () => {
    const self = { factor: 2 };
    function scaled(this: typeof self, value: number): number {
      return value * this.factor;
    }
    return scaled.bind(self);
  },
};

function headOf(fn: object): Record<string, unknown> {
  const { head } = dismantle(fn);
  return isRecord(head) ? { ...head } : {};
}

/** Everything that can be done to a function, and the fact about it that tells. */
const changes: Record<string, { readonly fact: string; change(fn: Plain): unknown }> = {
  "gets a property": { fact: "properties", change: (fn) => Object.assign(fn, { unit: "m" }) },
  "gets a hidden property": {
    fact: "properties",
    change: (fn) => Object.defineProperty(fn, Symbol("unit"), { value: "m", configurable: true }),
  },
  "gets another name": { fact: "name", change: (fn) => Object.defineProperty(fn, "name", { value: "other" }) },
  "loses its name": { fact: "name", change: (fn) => Reflect.deleteProperty(fn, "name") },
  "gets a name that can be assigned to": {
    fact: "properties",
    change: (fn) => Object.defineProperty(fn, "name", { writable: true }),
  },
  "gets another length": { fact: "length", change: (fn) => Object.defineProperty(fn, "length", { value: 7 }) },
  "loses its length": { fact: "length", change: (fn) => Reflect.deleteProperty(fn, "length") },
  "inherits from something else": { fact: "parent", change: (fn) => Object.setPrototypeOf(fn, { unit: "m" }) },
  "inherits from nothing": { fact: "parent", change: (fn) => Object.setPrototypeOf(fn, null) },
  "is frozen": { fact: "integrity", change: (fn) => Object.freeze(fn) },
  "is sealed": { fact: "integrity", change: (fn) => Object.seal(fn) },
  "is closed": { fact: "integrity", change: (fn) => Object.preventExtensions(fn) },
  "has made an instance that travels": { fact: "constructs", change: (fn) => noteConstructor(fn) },
};

describe.each(Object.entries(makers))("%s that travels again", (_title, make) => {
  it("is not taken apart again while it is the same", () => {
    const fn = make();
    const first = dismantle(fn);
    expect(dismantle(fn)).toBe(first);
    expect(dismantle(fn, { destination: "elsewhere", holder: { fn } })).toBe(first);
  });

  it.each(Object.entries(changes))("is when it %s", (_what, { fact, change }) => {
    const fn = make();
    const before = headOf(fn);
    expect(headOf(fn)).toEqual(before);
    change(fn);
    expect(headOf(fn)[fact]).not.toEqual(before[fact]);
  });

  it("travels as it was when a change is undone", () => {
    const fn = make();
    const before = headOf(fn);
    Object.assign(fn, { unit: "m" });
    expect(headOf(fn)).toHaveProperty("properties");
    Reflect.deleteProperty(fn, "unit");
    expect(headOf(fn)).toEqual(before);
  });
});

describe("a function with a prototype", () => {
  const make = makers["a function that may construct"] ?? Object;
  const prototypes: Record<string, (fn: object, prototype: object) => unknown> = {
    "gets a method": (_fn, prototype) => Object.assign(prototype, { area: () => 1 }),
    "gets an accessor": (_fn, prototype) => Object.defineProperty(prototype, "area", { get: () => 1 }),
    "loses its constructor": (_fn, prototype) => Reflect.deleteProperty(prototype, "constructor"),
    "inherits from something else": (_fn, prototype) => Object.setPrototypeOf(prototype, { unit: "m" }),
    "is frozen": (_fn, prototype) => Object.freeze(prototype),
    "is replaced": (fn) => Reflect.set(fn, "prototype", { area: () => 1 }),
  };

  it.each(Object.entries(prototypes))("is taken apart again when that %s", (_what, change) => {
    const fn = make();
    const prototype: unknown = Reflect.get(fn, "prototype");
    expect(headOf(fn)).not.toHaveProperty("prototype");
    if (typeof prototype === "object" && prototype !== null) change(fn, prototype);
    expect(headOf(fn)).toHaveProperty("prototype");
  });
});

/** The values that travel for captured variables. */
function capturedBy(fn: object): unknown[] {
  const { head, parts }: Dismantled = dismantle(fn);
  const count = isRecord(head) ? Number(head["captured"]) : 0;
  return parts.slice(0, count).map((part) => (part instanceof Cell ? part.v : part));
}

describe("a captured variable", () => {
  it("is read again when the code around the function assigns to it", () => {
    let factor = 1;
    const scale = (value: number): number => value * factor;
    expect(capturedBy(scale)).toEqual([1]);
    factor = 2;
    expect(capturedBy(scale)).toEqual([2]);
  });

  it("is read again when another function assigns to it", () => {
    let count = 0;
    const increase = (): void => {
      count += 1;
    };
    const read = (): number => count;
    expect(capturedBy(read)).toEqual([0]);
    expect(capturedBy(read)).toEqual([0]);
    increase();
    expect(capturedBy(read)).toEqual([1]);
  });
});

describe("a function for another receiver", () => {
  it("is taken apart by the policy of that receiver", () => {
    const fn = (makers["an arrow function"] ?? Object)();
    const first = dismantle(fn);
    expect(() => dismantle(fn, { ship: "reference" })).toThrow("is not an export");
    expect(dismantle(fn, { unavailable: new Map([["module", "is not installed"]]) })).not.toBe(first);
    expect(dismantle(fn, { unavailable: new Map() })).toBe(first);
  });
});
