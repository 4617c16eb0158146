import { beforeEach, describe, expect, it } from "vitest";
import { MalformedPayload } from "./bytes/malformed-payload.ts";
import { NotData } from "./function-nodes.ts";
import {
  type Dependency,
  type Dismantled,
  type FunctionPort,
  type PlainData,
  type PrivateState,
  ShippingError,
} from "./function-port.ts";
import { registerTraveller, traveller } from "./traveller.ts";
import { ValueDecoder } from "./value-decoder.ts";
import { ValueEncoder } from "./value-encoder.ts";

/** A function that arrived: shows what it captured. */
interface Shipped {
  (): unknown;
  id: number;
  captured: readonly unknown[];
  early: readonly unknown[];
}

/**
 * Stands for the code that ships functions: classes travel by identity, other functions become new ones that show what
 * they captured.
 */
class FakePort implements FunctionPort {
  readonly known: object[] = [];
  readonly captures = new Map<object, Partial<Dismantled>>();
  readonly privates = new Map<object, PrivateState[]>();
  readonly references = new Map<WeakKey, string>();
  readonly log: string[] = [];

  dismantle(fn: object, holder?: object): Dismantled {
    if (fn === unshippable) throw new ShippingError("native code", ["inner", "deeper"], "use something else");
    let id = this.known.indexOf(fn);
    if (id < 0) id = this.known.push(fn) - 1;
    const isClass = Function.prototype.toString.call(fn).startsWith("class");
    const head = { id, isClass, hasHolder: holder !== undefined };
    return { head, dependencies: [], early: [], parts: [], labels: [], ...this.captures.get(fn) };
  }

  assemble(head: PlainData, early: readonly unknown[]): { value: WeakKey; complete(parts: readonly unknown[]): void } {
    if (typeof head === "string") {
      const value = [...this.references].find(([, name]) => name === head)?.[0];
      if (value !== undefined) return { value, complete: () => {} };
    }
    if (typeof head !== "object" || head === null || !("id" in head)) throw new TypeError("no such head");
    const id = Number(head.id);
    const original = this.known[id];
    if (head.isClass === true && original !== undefined) return { value: original, complete: () => {} };
    const value: Shipped = Object.assign(() => value.captured[0], { id, captured: [], early });
    const complete = (parts: readonly unknown[]): void => {
      this.log.push(`complete ${id}`);
      value.captured = parts;
    };
    return { value, complete };
  }

  findKnown(head: PlainData): unknown {
    if (typeof head === "string") return [...this.references].find(([, name]) => name === head)?.[0];
    if (typeof head !== "object" || head === null || !("id" in head)) return undefined;
    return head.isClass === true ? this.known[Number(head.id)] : undefined;
  }

  referenceOf(value: object | symbol): Dismantled | undefined {
    const head = this.references.get(value);
    return head === undefined ? undefined : { head, dependencies: [], early: [], parts: [], labels: [] };
  }

  noteConstructor(): void {}
  notePrototype(): void {}

  refuseSymbol(_instance: object, symbol: symbol): void {
    if (symbol.description === "foreign") throw new ShippingError("is another symbol there", [], "send plain data");
  }

  privatesOf(value: object): PrivateState[] {
    return this.privates.get(value) ?? [];
  }

  restorePrivates(value: object, states: readonly PrivateState[]): void {
    this.log.push("restore");
    this.privates.set(value, [...states]);
  }
}

const unshippable = (): void => {};
let port: FakePort;
let encoder: ValueEncoder;
let decoder: ValueDecoder;

beforeEach(() => {
  port = new FakePort();
  encoder = new ValueEncoder(port);
  decoder = new ValueDecoder(port);
});

function copyOf<T>(value: T): T;
function copyOf(value: unknown): unknown {
  return decoder.decode(encoder.encode(value));
}

function isShipped(value: unknown): value is Shipped {
  return typeof value === "function" && "captured" in value;
}

function shippedCopyOf(fn: object): Shipped {
  const copy = copyOf<unknown>(fn);
  if (!isShipped(copy)) throw new TypeError("no function arrived");
  return copy;
}

class Point {
  x: number;
  y: number;
  constructor(x: number, y: number) {
    this.x = x;
    this.y = y;
  }
  get length(): number {
    return Math.hypot(this.x, this.y);
  }
}

describe("functions", () => {
  it("may capture themselves and what captures them", () => {
    const f = (): void => {};
    const g = (): void => {};
    const holder = { f };
    port.captures.set(f, { parts: [f, g, holder] });
    port.captures.set(g, { parts: [f] });
    const copy = shippedCopyOf(f);
    const [self, other, object] = copy.captured;
    expect(self).toBe(copy);
    expect(isShipped(other) && other.captured[0]).toBe(copy);
    expect(object).toEqual({ f: copy });
  });

  it("get their early values at once and the rest when every shell exists", () => {
    const base = (): void => {};
    const derived = (): void => {};
    port.captures.set(derived, { early: [base, "key"], parts: ["late"] });
    const copy = shippedCopyOf(derived);
    expect(copy.early).toHaveLength(2);
    expect(isShipped(copy.early[0])).toBe(true);
    expect(copy.captured).toEqual(["late"]);
    expect(port.log).toHaveLength(2);
  });

  it("nest 20,000 deep", () => {
    let inner: unknown = "bottom";
    for (let level = 0; level < 20_000; level++) {
      const fn = (): void => {};
      port.captures.set(fn, { parts: [inner] });
      port.known.push(fn);
      inner = { fn };
    }
    port.dismantle = function (fn) {
      return {
        head: { id: 0, isClass: false },
        dependencies: [],
        early: [],
        parts: [],
        labels: [],
        ...this.captures.get(fn),
      };
    };
    let depth = 0;
    for (let at = copyOf<unknown>(inner); typeof at === "object" && at !== null && "fn" in at; depth++) {
      at = isShipped(at.fn) ? at.fn.captured[0] : undefined;
    }
    expect(depth).toBe(20_000);
  });

  it("are told which object has them as a method", () => {
    const copy = copyOf<Record<string, unknown>>({
      method() {},
      get accessor() {
        throw new Error("was run");
      },
    });
    const { get } = Object.getOwnPropertyDescriptor(copy, "accessor") ?? {};
    expect(isShipped(get)).toBe(true);
    expect(isShipped(copy["method"])).toBe(true);
  });

  it("are refused with the whole path when the port refuses them", () => {
    const fn = (): void => {};
    port.captures.set(fn, { parts: [{ socket: [unshippable] }], labels: ["client"] });
    expect(() => encoder.encode([1, fn], "args")).toThrow(
      expect.objectContaining({
        path: "args[1] -> client -> socket -> [0] -> inner -> deeper",
        message: "args[1] -> client -> socket -> [0] -> inner -> deeper: native code. Use something else.",
      }),
    );
  });

  it("name what they depend on, once", () => {
    const a: Dependency = { hash: "a", data: "code a" };
    const b: Dependency = { hash: "b", data: "code b" };
    const f = (): void => {};
    const g = (): void => {};
    port.captures.set(f, { dependencies: [a, b] });
    port.captures.set(g, { dependencies: [{ ...b }] });
    encoder.encode([f, g]);
    expect(encoder.dependencies.map(({ hash }) => hash)).toEqual(["a", "b"]);
    encoder.encode([1]);
    expect(encoder.dependencies).toEqual([]);
  });
});

describe("instances", () => {
  it("keep their class, their fields and each other", () => {
    const point = new Point(3, 4);
    const [copy, same] = copyOf([point, point]);
    expect(copy).toBeInstanceOf(Point);
    expect(copy?.length).toBe(5);
    expect(copy).toBe(same);
    expect(copy).not.toBe(point);
  });

  it("do not run setters or constructors of their class", () => {
    class Guarded {
      constructor() {
        Object.defineProperty(this, "value", { value: 1, writable: true, enumerable: true, configurable: true });
      }
      set value(_value: number) {
        throw new Error("was run");
      }
    }
    expect(Object.entries(copyOf(new Guarded()))).toEqual([["value", 1]]);
  });

  it("of subclasses of built-ins keep state and class", () => {
    class Registry extends Map<string, number> {
      override set(): this {
        throw new Error("was run");
      }
      override get size(): number {
        return -1;
      }
    }
    const registry = Object.assign(new Registry(), { label: "x" });
    Map.prototype.set.call(registry, "a", 1);
    const copy = copyOf(registry);
    expect(copy).toBeInstanceOf(Registry);
    expect([copy.get("a"), copy.label]).toEqual([1, "x"]);

    class Stack extends Array<number> {}
    class Tags extends Set<string> {}
    class Day extends Date {}
    class Pattern extends RegExp {}
    class Bytes extends Uint8Array {}
    class Failure extends TypeError {
      readonly code = 7;
    }
    const values = [
      Stack.of(1, 2),
      new Tags(["a"]),
      new Day(5),
      new Pattern("a", "g"),
      Bytes.of(1, 2),
      new Failure("no"),
    ];
    for (const value of values) {
      const other = copyOf(value);
      expect(Object.getPrototypeOf(other)).toBe(Object.getPrototypeOf(value));
      expect(other).toEqual(value);
    }
  });

  it("get their private fields when all classes are complete, before they are frozen", () => {
    const point = Object.freeze(new Point(1, 2));
    const fn = (): void => {};
    port.privates.set(point, [{ owner: Point, names: ["secret", "self"], values: [fn, point] }]);
    const copy = copyOf(point);
    expect(Object.isFrozen(copy)).toBe(true);
    const [state] = port.privates.get(copy) ?? [];
    expect(state?.owner).toBe(Point);
    expect(state?.names).toEqual(["secret", "self"]);
    expect(isShipped(state?.values[0])).toBe(true);
    expect(state?.values[1]).toBe(copy);
    expect(port.log.at(-1)).toBe("restore");
  });

  it("of prototypes without a class keep the prototype as an object", () => {
    const prototype = { greet: "hello" };
    const [a, b] = copyOf([Object.create(prototype), Object.create(prototype)]);
    expect(Object.getPrototypeOf(a)).toEqual(prototype);
    expect(Object.getPrototypeOf(a)).toBe(Object.getPrototypeOf(b));
  });

  it("that both sides have travel by name", () => {
    const module = { helper() {} };
    port.references.set(module, "the module");
    const [first, second] = copyOf([module, module]);
    expect(first).toBe(module);
    expect(second).toBe(module);
  });
});

describe("travellers", () => {
  class Signal {
    parts: readonly unknown[] = [];
    get [traveller](): string {
      return "test-signal";
    }
  }
  registerTraveller("test-signal", {
    take: (value) => (value instanceof Signal ? value.parts : []),
    make() {
      const value = new Signal();
      return { value, complete: (parts) => void (value.parts = parts) };
    },
  });

  it("travel in their own way, and may lead back to themselves", () => {
    const signal = new Signal();
    signal.parts = [signal, { signal }, "reason"];
    const copy = copyOf(signal);
    expect(copy.parts[0]).toBe(copy);
    expect(copy.parts[1]).toEqual({ signal: copy });
    expect(copy.parts[2]).toBe("reason");
  });

  it("may be functions", () => {
    const fn = Object.defineProperty(() => {}, traveller, { value: "test-signal" });
    expect(copyOf<unknown>({ fn })).toEqual({ fn: new Signal() });
  });

  it("of a kind that is not registered are refused on both sides", () => {
    expect(() => encoder.encode({ odd: { [traveller]: "nobody" } })).toThrow(/value\.odd: .*"nobody"/);
    registerTraveller("here-only", { take: () => [], make: () => ({ value: {}, complete: () => {} }) });
    const payload = Buffer.from(encoder.encode({ [traveller]: "here-only" }));
    payload.write("gone-only", payload.indexOf("here-only"));
    expect(() => decoder.decode(payload)).toThrow(MalformedPayload);
    expect(() => decoder.decode(payload)).toThrow(/"gone-only"/);
  });

  it("may encode and decode other values while they are being sent and received", () => {
    registerTraveller("nested", {
      take: () => [Uint8Array.from(encoder.encode({ inner: [1, 2] }))],
      make() {
        const value = { inner: {} as unknown };
        return {
          value,
          complete([bytes]) {
            if (bytes instanceof Uint8Array) value.inner = decoder.decode(bytes);
          },
        };
      },
    });
    const nested = { [traveller]: "nested" };
    const shared = { shared: true };
    expect(copyOf<unknown>([shared, nested, shared, "after"])).toEqual([
      shared,
      { inner: { inner: [1, 2] } },
      shared,
      "after",
    ]);
  });
});

describe("where only data is taken", () => {
  class Point {
    x = 1;
  }

  function read(value: unknown): unknown {
    const payload = Uint8Array.from(encoder.encode(value));
    const assemble = (): never => {
      throw new Error("it was assembled");
    };
    const strict: FunctionPort = {
      assemble,
      dismantle: (fn, holder) => port.dismantle(fn, holder),
      findKnown: (head) => port.findKnown(head),
      referenceOf: (given) => port.referenceOf(given),
      noteConstructor: () => {},
      notePrototype: () => {},
      refuseSymbol: () => {},
      privatesOf: () => [],
      restorePrivates: assemble,
    };
    return new ValueDecoder(strict, { dataOnly: true }).decode(payload);
  }

  it("data, instances of known classes and known symbols are read", () => {
    const symbol = Symbol("imported");
    port.references.set(symbol, "a symbol");
    const value = { list: [1, new Date(5)], map: new Map([["a", { b: 2 }]]), symbol, error: new RangeError("far") };
    expect(read(value)).toEqual(value);
    const [point, other] = read([new Point(), Object.create(new Point())]) as Point[];
    expect(point).toBeInstanceOf(Point);
    expect([other?.x, Object.hasOwn(other ?? {}, "x")]).toEqual([1, false]);
  });

  it("functions are refused wherever they are, and nothing is assembled", () => {
    const fn = (): number => 1;
    const module = { name: "module", run: fn };
    port.references.set(module, "a module");
    const places: unknown[] = [
      fn,
      [fn],
      { fn },
      new Map([["fn", fn]]),
      Object.assign(new Error("e"), { fn }),
      Point,
      [module],
    ];
    places.push(Object.defineProperty({}, "fn", { get: fn, enumerable: true }), Object.create({ fn }) as object);
    for (const value of places) expect(() => read(value)).toThrow(NotData);
    expect(() => read([fn])).toThrow(/holds a function/);
    expect(() => read([module])).toThrow(/holds an object of this process/);
  });

  it("instances of classes that are not known here are refused", () => {
    const payload = Uint8Array.from(encoder.encode([new Point()]));
    port.known.length = 0;
    const strict = new ValueDecoder(port, { dataOnly: true });
    expect(() => strict.decode(payload)).toThrow(/holds an instance of .*, a class that is not known here/);
    expect(strict.decode(encoder.encode({ still: "usable" }))).toEqual({ still: "usable" });
  });
});

it("an instance that names its maker, where the prototype does not, has the maker's prototype there", () => {
  const prototype = { plus: (): number => 1 };
  function Maker(this: { constructor: unknown; n: number }): void {
    this.constructor = Maker;
    this.n = 1;
  }
  Maker.prototype = prototype;
  port.known.push(Maker);
  port.captures.set(Maker, { head: { kind: "module", id: port.known.indexOf(Maker), isClass: true } });
  const made: object = Reflect.construct(Maker, []);
  const back = decoder.decode(encoder.encode(made)) as object;
  expect(Object.getPrototypeOf(back)).toBe(prototype);
  expect(back).toMatchObject({ constructor: Maker, n: 1 });
});

it("something thrown leaves out what is under a symbol that means nothing elsewhere", () => {
  class Failure extends Error {
    readonly code = "E1";
  }
  const error = Object.assign(new Failure("bad"), { [Symbol.for("shared")]: 1, [Symbol("foreign")]: "hidden" });
  expect(() => encoder.encode(error)).toThrow(/another symbol/);
  const back = decoder.decode(Uint8Array.from(encoder.encodeThrown(error) as Uint8Array));
  expect(back).toBeInstanceOf(Failure);
  expect(back).toMatchObject({ message: "bad", code: "E1", [Symbol.for("shared")]: 1 });
  expect(back).toMatchObject({ dropped: ["error[Symbol(foreign)]"] });
});
