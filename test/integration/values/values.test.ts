import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routine, WoolError, WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

const echo = routine(async (value: unknown) => value);

/** Checks on the worker that what arrived is what a function that travels with it says. */
const satisfies = routine(async (value: unknown, check: (value: unknown) => unknown) => check(value));

async function there<T>(value: T): Promise<T> {
  return (await echo(value)) as T;
}

describe("built-in values go both ways", () => {
  const sparse: unknown[] = [1, , 3]; // oxlint-disable-line no-sparse-arrays -- holes must stay holes
  const withProto = JSON.parse('{ "__proto__": { "polluted": true }, "a": 1 }') as object;
  const values: [string, unknown][] = [
    ["undefined", undefined],
    ["null", null],
    ["true", true],
    ["zero", 0],
    ["minus zero", -0],
    ["NaN", Number.NaN],
    ["infinity", Number.NEGATIVE_INFINITY],
    ["a large number", 2 ** 53 + 2],
    ["a fraction", 0.1],
    ["a bigint", -(2n ** 100n)],
    ["an empty string", ""],
    ["text", "grüße, 世界 🧶"],
    ["a lone surrogate", "\ud800 alone"],
    ["a registered symbol", Symbol.for("wool")],
    ["a well-known symbol", Symbol.iterator],
    ["an array", [1, [2, [3]]]],
    ["an array with holes", sparse],
    ["an object", { a: { b: { c: 1 } }, "": 2, "with space": undefined }],
    ["an object with a key __proto__", withProto],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 })],
    ["a date", new Date(1_234_567_890_123)],
    ["an invalid date", new Date(Number.NaN)],
    ["a regular expression", /wo+l/giu],
    [
      "a map",
      new Map<unknown, unknown>([
        ["a", 1],
        [{ k: 1 }, new Map([[1, 2]])],
      ]),
    ],
    ["a set", new Set<unknown>([1, "a", new Set([2])])],
    ["a URL", new URL("https://example.com/a?b=c#d")],
    ["search parameters", new URLSearchParams("a=1&a=2")],
    ["headers", new Headers({ accept: "text/plain" })],
    ["a boxed number", Object(5) as unknown],
    ["a boxed string", Object("s") as unknown],
    ["an error", new RangeError("far")],
    ["a frozen object", Object.freeze({ a: Object.freeze([1]) })],
  ];

  test.each(values)("%s", async (_name, value) => {
    const back = await there(value);
    expect(back).toStrictEqual(value);
    expect(Object.is(back, value)).toBe(typeof value !== "object" || value === null);
    expect(Object.prototype.toString.call(back)).toBe(Object.prototype.toString.call(value));
  });

  test("holes stay holes, frozen stays frozen, and own __proto__ stays a property", async () => {
    expect(1 in (await there(sparse))).toBe(false);
    const frozen = await there(Object.freeze({ list: Object.freeze([1]) }));
    expect([Object.isFrozen(frozen), Object.isFrozen(frozen.list)]).toEqual([true, true]);
    const back = await there(withProto);
    expect(Object.keys(back)).toEqual(["__proto__", "a"]);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(await there(Object.create(null) as object))).toBeNull();
  });

  test("the worker sees them as they are, too", async () => {
    expect(await satisfies(-0, (value) => Object.is(value, -0))).toBe(true);
    expect(await satisfies(new Date(5), (value) => value instanceof Date && value.getTime() === 5)).toBe(true);
    expect(await satisfies(new Map([[1, 2]]), (value) => value instanceof Map && value.get(1) === 2)).toBe(true);
    expect(await satisfies(/a/g, (value) => value instanceof RegExp && value.flags === "g")).toBe(true);
    expect(await satisfies(sparse, (value) => Array.isArray(value) && !(1 in value))).toBe(true);
    expect(await satisfies([undefined], (value) => Array.isArray(value) && 0 in value)).toBe(true);
  });
});

describe("binary data", () => {
  const bytes = Uint8Array.from({ length: 64 }, (_, i) => i * 3);
  const views: [string, ArrayBufferView][] = [
    ["Uint8Array", bytes],
    ["Uint8ClampedArray", new Uint8ClampedArray(bytes)],
    ["Int8Array", new Int8Array(bytes.buffer, 3, 5)],
    ["Int16Array", new Int16Array(bytes.buffer, 2, 4)],
    ["Uint16Array", new Uint16Array([1, 65_535])],
    ["Int32Array", new Int32Array([-1, 2 ** 31 - 1])],
    ["Uint32Array", new Uint32Array([2 ** 32 - 1])],
    ["Float32Array", new Float32Array([0.5, -0, Number.NaN])],
    ["Float64Array", new Float64Array([Math.PI, Number.POSITIVE_INFINITY])],
    ["BigInt64Array", new BigInt64Array([-1n])],
    ["BigUint64Array", new BigUint64Array([2n ** 64n - 1n])],
    ["an empty view", new Uint8Array()],
    ["Buffer", Buffer.from("wool")],
    ["DataView", new DataView(bytes.buffer, 8, 16)],
  ];

  test.each(views)("%s keeps its type and contents", async (_name, view) => {
    const back = await there(view);
    expect(back.constructor).toBe(view.constructor);
    expect(back.byteLength).toBe(view.byteLength);
    const raw = (of: ArrayBufferView): Buffer => Buffer.from(of.buffer, of.byteOffset, of.byteLength);
    expect(raw(back).equals(raw(view))).toBe(true);
  });

  test("an array buffer, and two views of it, stay one memory", async () => {
    const memory = new ArrayBuffer(8);
    const [first, second, whole] = await there([
      new Uint8Array(memory, 0, 4),
      new Uint8Array(memory, 2, 4),
      memory,
    ] as const);
    first[2] = 7;
    expect(second[0]).toBe(7);
    expect(first.buffer).toBe(whole);
    expect(new Uint8Array(memory)[2]).toBe(0);
  });

  test("a small view of a large buffer does not change what it is", async () => {
    const large = new Uint8Array(1_000_000).fill(9);
    expect(await there(large.subarray(10, 13))).toEqual(Uint8Array.of(9, 9, 9));
  });
});

describe("identity inside a value", () => {
  test("cycles are kept", async () => {
    interface Loop {
      name: string;
      self?: Loop;
      list: unknown[];
      map: Map<string, unknown>;
    }
    const loop: Loop = { name: "loop", list: [], map: new Map() };
    loop.self = loop;
    loop.list.push(loop, loop.list);
    loop.map.set("loop", loop);
    const back = await there(loop);
    expect(back.name).toBe("loop");
    expect(back.self).toBe(back);
    expect(back.list[0]).toBe(back);
    expect(back.list[1]).toBe(back.list);
    expect(back.map.get("loop")).toBe(back);
    expect(await satisfies(loop, (value) => (value as Loop).self === value)).toBe(true);
  });

  test("one object in two places stays one, also across arguments", async () => {
    const shared = { n: 1 };
    const [a, b, set] = await there([shared, shared, new Set([shared])] as const);
    expect(a).toBe(b);
    expect(set.has(a)).toBe(true);
    const same = routine(async (x: object, y: object) => x === y);
    expect(await same(shared, shared)).toBe(true);
    expect(await same({}, {})).toBe(false);
  });

  test("deep nesting arrives", async () => {
    let deep: { next?: unknown } = {};
    for (let i = 0; i < 20_000; i++) deep = { next: deep };
    let depth = 0;
    for (let at: unknown = await there(deep); typeof at === "object" && at !== null && "next" in at; at = at.next)
      depth++;
    expect(depth).toBe(20_000);
  });
});

describe("instances of classes", () => {
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

    moved(dx: number): Point {
      return new Point(this.x + dx, this.y);
    }
  }

  class Point3 extends Point {
    z = 1;
  }

  class Names extends Map<string, number> {
    total(): number {
      return [...this.values()].reduce((sum, value) => sum + value, 0);
    }
  }

  class Sealed {
    readonly #secret: string;

    constructor(secret: string) {
      this.#secret = secret;
    }

    reveal(): string {
      return this.#secret;
    }
  }

  test("keep their class and methods there and back", async () => {
    const move = routine(async (point: Point) => {
      if (!(point instanceof Point)) throw new TypeError("not a Point");
      return { moved: point.moved(3), length: point.length };
    });
    const { moved, length } = await move(new Point(0, 4));
    expect(length).toBe(4);
    expect(moved).toBeInstanceOf(Point);
    expect(moved.length).toBe(5);
  });

  test("take their private fields along; what cannot be brought back is refused by name", async () => {
    expect(await satisfies(new Sealed("hidden"), (value) => value instanceof Sealed && value.reveal())).toBe("hidden");
    const make = routine(async (secret: string) => new Sealed(secret));
    const outcome: unknown = await make("hidden").then(
      (value) => value.reveal(),
      (error: unknown) => error,
    );
    // Only a constructor can give an object of the caller's own class its private fields: never half an object.
    if (outcome !== "hidden") {
      expect(outcome).toBeInstanceOf(WoolError);
      expect(outcome).toMatchObject({ message: expect.stringMatching(/private fields.*Sealed/s) });
    }
  });

  test("keep their place in a hierarchy", async () => {
    const back = await there(new Point3(3, 4));
    expect(back).toBeInstanceOf(Point3);
    expect(back).toBeInstanceOf(Point);
    expect([back.z, back.length]).toEqual([1, 5]);
  });

  test("of built-in collections keep both sides", async () => {
    const names = new Names([
      ["a", 1],
      ["b", 2],
    ]);
    expect(await satisfies(names, (value) => value instanceof Names && value.total())).toBe(3);
    const back = await there(names);
    expect(back).toBeInstanceOf(Names);
    expect(back.total()).toBe(3);
  });

  test("made on the worker come back as the caller's own class", async () => {
    const make = routine(async (x: number) => new Point(x, 0));
    const point = await make(2);
    expect(point).toBeInstanceOf(Point);
    expect(point.constructor).toBe(Point);
  });

  test("of a constructor function whose prototype has a Symbol.toStringTag keep their methods", async () => {
    interface Big {
      value: number;
      plus(other: number): Big;
    }
    const Big = function (this: Big, value: number) {
      this.value = value;
    } as unknown as new (
      value: number,
    ) => Big;
    Object.assign(Big.prototype, {
      plus(this: Big, other: number) {
        return new Big(this.value + other);
      },
      [Symbol.toStringTag]: "Big",
    });
    const captured = new Big(1);
    const sum = routine(async (given: Big) => given.plus(captured.plus(1).value));
    const back = await sum(new Big(3));
    expect(back).toBeInstanceOf(Big);
    expect([back.value, back.plus(1).value, String(back)]).toEqual([5, 6, "[object Big]"]);
    const keys = routine(async (given: Big) => {
      const found: string[] = [];
      for (const key in given) found.push(key);
      return found;
    });
    expect(await keys(captured)).toEqual(["value", "plus"]);
  });

  test("of a constructor function whose prototype was replaced by a literal are seen as here", async () => {
    function Decimal(this: { digits: number[] }, digits: number[]): void {
      this.digits = digits;
    }
    Decimal.prototype = {
      constructor: Decimal,
      count(this: { digits: number[] }) {
        return this.digits.length;
      },
      get [Symbol.toStringTag]() {
        return "Decimal";
      },
    };
    const made = Reflect.construct(Decimal, [[1, 2]]) as { count(): number };
    const look = routine(async (given: typeof made) => {
      const found: string[] = [];
      for (const key in given) found.push(key);
      return [given.count(), found, String(given)];
    });
    expect(await look(made)).toEqual([2, ["digits", "constructor", "count"], "[object Decimal]"]);
  });

  test("linked to each other stay linked", async () => {
    class Branch {
      parent: Branch | undefined;
      readonly children: Branch[] = [];

      grow(): this {
        const child = new Branch();
        child.parent = this;
        this.children.push(child);
        return this;
      }
    }
    const tree = await there(new Branch().grow().grow());
    expect(tree.children).toHaveLength(2);
    for (const child of tree.children) expect(child.parent).toBe(tree);
    expect(tree.children[1]).toBeInstanceOf(Branch);
  });
});
