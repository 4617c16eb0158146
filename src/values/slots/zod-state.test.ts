import { describe, expect, it } from "vitest";
import { decode, encode } from "../codec.ts";

type Issues = string[];

interface Internals {
  readonly def: Definition;
  readonly constr: unknown;
  bag: Record<string, unknown>;
  onattach: ((instance: Instance) => void)[];
  check?: (value: unknown, issues: Issues) => void;
}

interface Instance {
  readonly _zod: Internals;
}

interface Definition {
  readonly checks?: readonly Instance[];
  readonly least?: number;
}

type Class = new (def: Definition) => Instance;

/** Makes a class as zod 4 does: it gives an instance its parts, from its definition. */
function constructorOf(initialize: (internals: Internals, instance: Instance) => void): Class {
  function Definer(this: Instance, def: Definition): void {
    const internals: Internals = { def, constr: Definer, bag: {}, onattach: [] };
    Object.defineProperty(this, "_zod", { value: internals, enumerable: false });
    initialize(internals, this);
  }
  Object.defineProperty(Definer, "init", { value: () => {} });
  Object.defineProperty(Definer, Symbol.hasInstance, { value: () => true });
  return Definer as unknown as Class;
}

const Schema = constructorOf((internals, instance) => {
  for (const each of internals.def.checks ?? []) for (const attach of each._zod.onattach) attach(instance);
});
const Check = constructorOf(() => {});
const Least = constructorOf((internals) => {
  const least = internals.def.least ?? 0;
  internals.check = (value, issues) => {
    if (Number(value) < least) issues.push(`below ${least}`);
  };
});

function issuesOf(schema: Instance, value: unknown): Issues {
  const issues: Issues = [];
  for (const { _zod } of schema._zod.def.checks ?? []) _zod.check?.(value, issues);
  return issues;
}

const copyOf = (schema: Instance): Instance => decode(encode(schema)) as Instance;

describe("a schema of zod", () => {
  it("brings along the check that was given to it after it was made", () => {
    const own = new Check({});
    own._zod.check = (value, issues) => {
      if (value === 13) issues.push(own instanceof Check ? "not 13" : "?");
    };
    const copy = copyOf(new Schema({ checks: [own, new Least({ least: 5 })] }));
    expect([issuesOf(copy, 13), issuesOf(copy, 4), issuesOf(copy, 6)]).toEqual([["not 13"], ["below 5"], []]);
  });

  it("brings along a check that replaces the one of its class, and its bag", () => {
    const own = new Least({ least: 5 });
    own._zod.check = (_value, issues) => issues.push("always");
    own._zod.bag["Class"] = Map;
    const copy = copyOf(new Schema({ checks: [own] }));
    expect(issuesOf(copy, 6)).toEqual(["always"]);
    expect(copy._zod.def.checks?.[0]?._zod.bag["Class"]).toBe(Map);
  });

  it("attaches checks with what was given to them", () => {
    const noting = new Check({});
    noting._zod.onattach = [(instance) => (instance._zod.bag["noted"] = true)];
    expect(copyOf(new Schema({ checks: [noting] }))._zod.bag["noted"]).toBe(true);
  });
});
