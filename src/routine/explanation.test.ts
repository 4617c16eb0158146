import net from "node:net";
import { describe, expect, it } from "vitest";
import { ContextVar } from "../context/context-var.ts";
import { SerializationError } from "../errors.ts";
import { type ExplainedPart, type Explanation, shipping } from "../functions/index.ts";
import { encode, ValueEncoder } from "../values/index.ts";
import { routine } from "./routine.ts";
import { routineSpecOf } from "./routine-registry.ts";

function partOf(explained: { readonly parts: readonly ExplainedPart[] }, ...names: readonly string[]): ExplainedPart {
  const [name, ...rest] = names;
  const part = explained.parts.find((each) => each.name === name);
  if (part === undefined) throw new Error(`no part ${name} in ${explained.parts.map((each) => each.name).join()}`);
  return rest.length === 0 ? part : partOf(part, ...rest);
}

/** The error that a call of the routine would throw. */
function errorOf(subject: unknown): SerializationError {
  try {
    routineSpecOf(subject)?.route();
  } catch (error) {
    if (error instanceof SerializationError) return error;
    throw error;
  }
  throw new Error("it can travel");
}

function expectSameRefusal(explained: Explanation, error: SerializationError): void {
  const { refusal } = explained;
  expect(explained.by).toBe("nothing");
  expect(`${refusal?.path}: ${refusal?.reason}. ${refusal?.fix}`).toBe(error.message);
  expect(refusal?.path).toBe(error.path);
}

describe("the size of what travels", () => {
  it("is that of the payload, and of the code as it is sent", () => {
    const table = new Map([["a", 1]]);
    const bytes = Buffer.alloc(10_000);
    const look = (): unknown => [table, bytes];
    const explained = shipping.explain(look);
    expect(explained).toMatchObject({ name: "look", kind: "function", by: "value", stability: "compare" });
    expect(explained.bytes).toBe(encode(look).length);
    expect(explained.codeBytes).toBeGreaterThan(look.toString().length);
    expect(partOf(explained, "bytes")).toMatchObject({ bytes: encode(bytes).length, codeBytes: 0 });
    expect(partOf(explained, "table")).toMatchObject({ bytes: encode(table).length, by: "value", kind: "variable" });
  });

  it("counts the code that several functions need once", () => {
    const shared = (): number => 1;
    const first = (): number => shared();
    const second = (): number => shared();
    const both = (): number => first() + second();
    const encoder = new ValueEncoder();
    encoder.encode(both);
    const sizes = encoder.dependencies.map(({ data }) => Buffer.byteLength(JSON.stringify(data)));
    expect(sizes).toHaveLength(4);
    expect(shipping.explain(both).codeBytes).toBe(sizes.reduce((sum, size) => sum + size));
  });
});

describe("the tree of what travels", () => {
  it("shows what a captured function captured in turn, each thing once", () => {
    const settings = { retries: 3 };
    const inner = (): object => settings;
    const outer = (): object => [inner(), settings, process.pid];
    const explained = shipping.explain(outer);
    expect(partOf(explained, "settings")).toMatchObject({ sameAs: undefined, reason: "a copy of what it is now" });
    expect(partOf(explained, "inner", "settings")).toMatchObject({ sameAs: "outer -> settings", bytes: 0, parts: [] });
  });

  it("ends where functions lead back to themselves", () => {
    const isEven = (n: number): boolean => n === 0 || isOdd(n - 1);
    const isOdd = (n: number): boolean => n !== 0 && isEven(n - 1);
    const explained = shipping.explain(isEven);
    expect(partOf(explained, "isOdd", "isEven")).toMatchObject({ sameAs: "isEven", parts: [] });
    expect(explained.refusal).toBeUndefined();
  });

  it("stops at a depth and says how much is left out", () => {
    let chain = (): number => 1;
    for (let depth = 0; depth < 10; depth++) {
      const next = chain;
      chain = () => next() + depth;
    }
    let part: { readonly parts: readonly ExplainedPart[]; readonly omitted: number } = shipping.explain(chain);
    let levels = 0;
    for (; part.parts.length > 0; levels++) part = partOf(part, "next");
    expect(levels).toBe(6);
    expect(part.omitted).toBe(2);
  });

  it("stops at a number of parts", () => {
    const functions = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`f${index}`, () => index]));
    const explained = shipping.explain(() => functions);
    const { parts, omitted } = partOf(explained, "functions");
    expect(parts.length + omitted).toBe(400);
    expect(parts.length).toBe(299);
  });

  it("shows the functions that an object holds and the class of an instance", () => {
    class Shop {
      name = "shop";
    }
    const shop = new Shop();
    const api = { limit: 1, fetch: (): Shop => shop };
    const explained = shipping.explain(() => api);
    expect(partOf(explained, "api").parts.map(({ name, kind }) => [name, kind])).toEqual([[".fetch", "member"]]);
    expect(partOf(explained, "api", ".fetch", "shop", "constructor")).toMatchObject({
      kind: "definition",
      value: "[class Shop]",
      by: "value",
    });
  });

  it("says what is assigned to, bound, or referred to", () => {
    let count = 0;
    const bump = function bump(this: unknown, by: number): unknown {
      count += by;
      return [this, count, net];
    };
    const explained = shipping.explain(bump.bind({ me: true }, 2));
    expect(partOf(explained, "bound this")).toMatchObject({ kind: "bound", value: "{ me: true }" });
    expect(partOf(explained, "bound function", "count")).toMatchObject({ kind: "assigned variable", value: "0" });
    expect(partOf(explained, "bound function", "count").reason).toContain("assigns to it");
  });

  it("says that a context variable travels in its own way", () => {
    const user = new ContextVar("explained-user");
    const read = (): unknown => user.get();
    expect(partOf(shipping.explain(read), "user").reason).toContain("context-var");
  });

  it("does not run code of the user's to show a value", () => {
    let ran = 0;
    const odd = {
      get trap() {
        ran += 1;
        return 1;
      },
      [Symbol.for("nodejs.util.inspect.custom")]() {
        ran += 1;
        return "mine";
      },
    };
    const text = "line\n".repeat(100);
    const explained = shipping.explain(() => [odd, text]);
    expect(ran).toBe(0);
    expect(partOf(explained, "text").value.length).toBeLessThanOrEqual(80);
    expect(partOf(explained, "text").value).not.toContain("\n");
  });
});

it("calls a function without a name by the one that is given", () => {
  const [unnamed] = [() => 1];
  expect(shipping.explain(unnamed as () => number, { name: "given" }).name).toBe("given");
  expect(shipping.explain(unnamed as () => number).name).toBe("anonymous");
});

describe("a class", () => {
  it("shows what it extends and its static state", () => {
    class Base {}
    const limits = { max: 1 };
    class Derived extends Base {
      static limits = limits;
    }
    const explained = shipping.explain(Derived);
    expect(explained).toMatchObject({ name: "Derived", kind: "class", by: "value", refusal: undefined });
    expect(partOf(explained, "extends")).toMatchObject({ kind: "definition", value: "[class Base]" });
    expect(partOf(explained, ".limits")).toMatchObject({ kind: "property", value: "{ max: 1 }" });
  });

  it("lets a method that uses private names be explained with its holder", () => {
    class Counter {
      #count = 1;
      read(): number {
        return this.#count;
      }
    }
    const { read } = Counter.prototype;
    expect(shipping.explain(read, { holder: Counter.prototype })).toMatchObject({ by: "value", refusal: undefined });
  });
});

describe("a routine", () => {
  it("is explained by its function, under its own name", () => {
    const limit = 3;
    const check = routine(async (n: number) => n < limit, { name: "checked" });
    const explained = shipping.explain(check);
    expect(explained).toMatchObject({ name: "checked", kind: "routine", by: "value" });
    expect(explained.bytes).toBe(routineSpecOf(check)?.route().code.length);
    expect(partOf(explained, "limit")).toMatchObject({ value: "3", bytes: 2, reason: "a copy of its value" });
  });

  it("travels as its options say", () => {
    const refused = routine(async () => 1, { name: "referred", ship: "reference" });
    expectSameRefusal(shipping.explain(refused), errorOf(refused));
    const { reason } = shipping.explain(routine(async () => 1, { ship: "value" }));
    expect(reason).toBe('`ship: "value"` asks for it');
  });

  it("that another function captured shows what its own function captured", () => {
    const limit = 3;
    const check = routine(async (n: number) => n < limit, { name: "checked" });
    const use = async (): Promise<boolean> => await check(1);
    const part = partOf(shipping.explain(use), "check");
    expect(part.value).toBe("[Routine: checked]");
    expect(part.reason).toMatch(/^a routine, and /);
    expect(partOf(part, "limit").value).toBe("3");
  });

  it("has its serializer explained too", () => {
    const cache = new WeakRef({});
    const serializer = {
      dumps: (value: unknown): Uint8Array => Buffer.from(JSON.stringify([value, cache])),
      loads: (): unknown => undefined,
    };
    const send = routine(async () => 1, { name: "send", serializer });
    const explained = shipping.explain(send);
    expectSameRefusal(explained, errorOf(send));
    expect(explained.refusal?.path).toBe("send.serializer.dumps -> cache");
    expect(partOf(explained, "serializer")).toMatchObject({ kind: "option", by: "nothing" });
  });
});

describe("what is refused", () => {
  const weak = new WeakRef({});
  let assigned: unknown = {};
  assigned = { deep: [weak] };
  const client = { socket: new net.Socket() };
  const inner = (): unknown => client;
  const proxy = new Proxy({ a: 1 }, {});
  const evaluate = (text: string): unknown => eval(text);
  const subjects: [string, unknown, string][] = [
    ["an open handle", routine(async () => client, { name: "fetchPage" }), "fetchPage -> client -> socket"],
    [
      "through a function",
      routine(async () => inner(), { name: "fetchPage" }),
      "fetchPage -> inner -> client -> socket",
    ],
    ["a WeakRef", routine(async () => weak, { name: "fetchPage" }), "fetchPage -> weak"],
    ["an assigned variable", routine(async () => assigned, { name: "read" }), "read -> assigned -> deep -> [0]"],
    ["a Proxy", routine(async () => proxy, { name: "read" }), "read -> proxy"],
    ["a function", routine(async () => evaluate("1"), { name: "read" }), "read -> evaluate"],
    ["the routine itself", routine(async (text: string) => eval(text) as unknown, { name: "read" }), "read"],
  ];

  it.each(subjects)("is what the error of a call says: %s", (_name, subject, path) => {
    const explained = shipping.explain(subject as object);
    expectSameRefusal(explained, errorOf(subject));
    expect(explained.refusal?.path).toBe(path);
    expect(explained).toMatchObject({ bytes: undefined, codeBytes: undefined, stability: undefined });
  });

  it("is marked at each part that leads to it, and the others are explained all the same", () => {
    const fine = 1;
    const fetchPage = (): unknown => [fine, inner(), weak];
    const explained = shipping.explain(fetchPage);
    expect(partOf(explained, "fine")).toMatchObject({ by: "value", refusal: undefined });
    expect(partOf(explained, "weak").refusal).toMatchObject({ path: "fetchPage -> weak" });
    expect(partOf(explained, "inner").refusal).toMatchObject({ path: "fetchPage -> inner -> client -> socket" });
    const { path, reason } = partOf(explained, "inner").refusal ?? {};
    expect(partOf(explained, "inner", "client").refusal).toMatchObject({ path, reason });
  });

  it("is anything that is neither a function nor a class", () => {
    expect(shipping.explain({ a: 1 })).toMatchObject({
      by: "nothing",
      refusal: { reason: "object is not a function", fix: "pass a function or a class" },
    });
  });
});

describe("notes", () => {
  it("point out a function that calls itself and not its routine", () => {
    const explained = shipping.explain(
      routine(async function crawl(depth: number): Promise<number> {
        return depth === 0 ? 0 : crawl(depth - 1);
      }),
    );
    expect(explained.notes).toEqual([
      expect.stringContaining("const crawl = routine(async () => { ... crawl() ... })"),
    ]);
    expect(shipping.explain(routine(async () => 1)).notes).toEqual([]);
  });
});
