import { describe, expect, it, vi } from "vitest";
import { acceptDependency } from "../functions/index.ts";
import { copyPayload } from "./bytes/index.ts";
import { functionPort } from "./function-port.ts";
import { ValueDecoder } from "./value-decoder.ts";
import { ValueEncoder } from "./value-encoder.ts";

/** Encodes arguments, and tells how many functions it was asked about. */
class Caller {
  readonly #port = functionPort();
  readonly #dismantle = vi.fn(this.#port.dismantle);
  readonly #encoder = new ValueEncoder({ ...this.#port, dismantle: this.#dismantle });
  readonly #decoder = new ValueDecoder(functionPort({ isCall: true }));
  asked = 0;

  /** The arguments as they arrive. */
  pass<T extends readonly unknown[]>(...args: T): T {
    this.#dismantle.mockClear();
    const payload = copyPayload(this.#encoder.encodeList(args, "args"));
    this.asked = this.#dismantle.mock.calls.length;
    for (const dependency of this.#encoder.dependencies) expect(acceptDependency(dependency)).toBeUndefined();
    return this.#decoder.decode(payload) as T;
  }

  /** Passes a value until what was written for it is kept. */
  keep(...values: readonly unknown[]): void {
    for (const value of values) {
      for (let times = 0; times < 3; times++) this.pass(value);
      expect(this.asked).toBe(0);
    }
  }
}

class Shape {
  readonly sides: number[];

  constructor(sides: number[]) {
    this.sides = sides;
  }

  count(): number {
    return this.sides.length;
  }
}

const notes = new WeakMap<object, string>();

/** An object as packages make them: with many functions of its own, and with data of each kind. */
function makeValue() {
  let total = 1;
  const settings = { unit: "m", deep: { list: [1, 2] } };
  const steps = Array.from({ length: 30 }, (_, index) => () => `${index} ${settings.unit} ${total}`);
  const shape = new Shape([3, 4]);
  const tagged = Object.assign(() => "tagged", { tag: { id: 1 } });
  return {
    settings,
    steps,
    shape,
    tagged,
    bound: steps[1]?.bind(settings),
    map: new Map([["a", { n: 1 }]]),
    set: new Set([1]),
    date: new Date(5),
    pattern: /a/g,
    note: (object: object): string | undefined => notes.get(object),
    raise: (): void => {
      total += 1;
    },
    get sum(): number {
      return total;
    },
  };
}
type Value = ReturnType<typeof makeValue>;

/** Everything about a value that can be seen. */
function seen(value: Value): unknown {
  const { steps, settings, shape, tagged, map, set, date, pattern, note, bound } = value;
  return {
    steps: steps.map((step) => step()),
    bound: bound?.(),
    names: [...steps, bound, tagged].map((step) => [step?.name, Object.keys(step ?? {})]),
    settings,
    keys: Reflect.ownKeys(value).map((key) => [key, Object.getOwnPropertyDescriptor(value, key)?.enumerable]),
    shape: [shape.sides, shape.count(), Object.keys(shape), Object.getPrototypeOf(shape) === null],
    tag: [tagged(), tagged.tag, Object.keys(tagged)],
    map: [...map],
    set: [...set],
    date: date.getTime(),
    pattern: String(pattern),
    note: note(shape),
    sum: value.sum,
    isFrozen: [Object.isFrozen(value), Object.isFrozen(steps[0]), Object.isFrozen(settings)],
  };
}

const changes: Record<string, (value: Value) => unknown> = {
  "a property": (value) => Reflect.set(value.settings, "unit", "cm"),
  "a property deep inside": (value) => value.settings.deep.list.push(3),
  "an added property": (value) => Object.assign(value, { more: 1 }),
  "a removed property": (value) => Reflect.deleteProperty(value.settings.deep, "list"),
  "the order of properties": (value) => {
    const { set } = value;
    Reflect.deleteProperty(value, "set");
    Object.assign(value, { set });
  },
  "a hidden property": (value) => Object.defineProperty(value, "set", { enumerable: false }),
  "an accessor": (value) => Object.defineProperty(value, "sum", { get: () => 77, configurable: true }),
  "an element": (value) => value.steps.splice(2, 1),
  "a function": (value) => value.steps.splice(2, 1, () => "other"),
  "the name of a function": (value) => Object.defineProperty(value.steps[3], "name", { value: "other" }),
  "the name of a bound function": (value) => Object.defineProperty(value.bound, "name", { value: "other" }),
  "a property of a function": (value) => Object.assign(value.tagged, { tag: { id: 2 } }),
  "what a property of a function holds": (value) => Object.assign(value.tagged.tag, { id: 3 }),
  "a property that a function gets": (value) => Object.assign(value.steps[0] ?? {}, { extra: 1 }),
  "a captured variable": (value) => value.raise(),
  "a map": (value) => value.map.set("b", { n: 2 }),
  "a value of a map": (value) => Object.assign(value.map.get("a") ?? {}, { n: 9 }),
  "a set": (value) => value.set.add(2),
  "a date": (value) => value.date.setTime(6),
  "an instance": (value) => value.shape.sides.push(5),
  "the class of an instance": (value) => Object.setPrototypeOf(value.shape, { count: () => 99 }),
  "an entry of a weak map": (value) => notes.set(value.shape, "noted"),
  "being frozen": (value) => Object.freeze(value.settings),
  "a frozen function": (value) => Object.freeze(value.steps[0]),
};

describe("an argument with many functions that is passed again", () => {
  it("arrives as it is, without being taken apart again", () => {
    const caller = new Caller();
    const value = makeValue();
    caller.keep(value);
    const [copy] = caller.pass(value);
    expect(caller.asked).toBe(0);
    expect(copy).not.toBe(value);
    expect(seen(copy)).toEqual(seen(value));
    copy.raise();
    copy.settings.deep.list.push(9);
    const [next] = caller.pass(value);
    expect(seen(next)).toEqual(seen(value));
  });

  it.each(Object.entries(changes))("arrives as it is now, after a change of %s", (_title, change) => {
    const caller = new Caller();
    const value = makeValue();
    caller.keep(value);
    const before = structuredClone(seen(value));
    change(value);
    expect(seen(value)).not.toEqual(before);
    for (let times = 0; times < 4; times++) expect(seen(caller.pass(value)[0])).toEqual(seen(value));
  });

  it("is taken apart again when its class has changed", () => {
    const caller = new Caller();
    class Local {
      count(): number {
        return 1;
      }
    }
    const value = { ...makeValue(), local: new Local() };
    caller.keep(value);
    Local.prototype.count = () => 2;
    caller.pass(value);
    expect(caller.asked).toBeGreaterThan(0);
  });

  it("shares objects with the arguments around it", () => {
    const caller = new Caller();
    const value = makeValue();
    const point = { x: 1, y: 2 };
    caller.keep(value);
    const [before, copy, after, part, inner] = caller.pass(
      { x: 0, y: 0, point },
      value,
      { x: 3, y: 4, point },
      value.settings.deep,
      [value.steps[2], { unit: value.settings }],
    );
    expect(caller.asked).toBe(0);
    expect([before, after]).toEqual([
      { x: 0, y: 0, point },
      { x: 3, y: 4, point },
    ]);
    expect(before.point).toBe(after.point);
    expect(part).toBe(copy.settings.deep);
    expect(inner[0]).toBe(copy.steps[2]);
    expect(inner[1]).toEqual({ unit: copy.settings });
    expect(seen(copy)).toEqual(seen(value));
  });

  it("is one with what comes before it, and with another such argument", () => {
    const caller = new Caller();
    const value = makeValue();
    const other = { ...makeValue(), shared: value.settings };
    const apart = makeValue();
    caller.keep(value, other, apart);
    const [part, copy] = caller.pass(value.settings, value);
    expect(copy.settings).toBe(part);
    const [one, two, three, again] = caller.pass(value, other, apart, value);
    expect(two.shared).toBe(one.settings);
    expect(again).toBe(one);
    expect([one, two, three].map(seen)).toEqual([value, other, apart].map(seen));
  });

  it("is written each time if nothing tells whether it has changed", () => {
    const caller = new Caller();
    const value = { ...makeValue(), error: new Error("first") };
    for (const message of ["first", "second", "third", "fourth"]) {
      value.error.message = message;
      expect(caller.pass(value)[0].error.message).toBe(message);
      expect(caller.asked).toBeGreaterThan(0);
    }
  });

  it("is refused when it cannot travel any more", () => {
    const caller = new Caller();
    const value = makeValue();
    caller.keep(value);
    Object.assign(value.settings, { later: new Promise(() => {}) });
    expect(() => caller.pass(value)).toThrow(/args\[0\]\.settings\.later/);
    Reflect.deleteProperty(value.settings, "later");
    expect(seen(caller.pass(value)[0])).toEqual(seen(value));
  });
});
