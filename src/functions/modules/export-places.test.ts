import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { isReader, placeInExports, readBy } from "./export-places.ts";

/** What a text evaluates to, as a compiler of another project wrote it. */
function compiled(text: string): unknown {
  const make: unknown = runInThisContext(`(a, b, k) => (${text})`);
  return typeof make === "function" ? Reflect.apply(make, undefined, [1, { c: 2 }, "c"]) : undefined;
}

function getterOf(text: string): unknown {
  const object: unknown = compiled(text);
  return typeof object === "object" && object !== null
    ? Object.values(Object.getOwnPropertyDescriptors(object))[0]?.get
    : undefined;
}

test.each([
  ["esbuild", compiled("() => a"), { name: "a" }],
  ["esbuild, minified", compiled("()=>a"), { name: "a" }],
  ["tsc", compiled("function () { return b.c; }"), { name: "b", member: "c" }],
  ["tsc, all exports", compiled("function() { return b[k]; }"), { name: "b", key: "k" }],
  ["swc", getterOf("{ get counter () {\n        return a;\n    } }"), { name: "a" }],
  ["swc, again", getterOf("{ get default () {\n        return b.c;\n    } }"), { name: "b", member: "c" }],
  ["swc, a name that is no identifier", getterOf('{ get "a-b" () { return a; } }'), { name: "a" }],
  ["swc, minified", getterOf("{get up(){return a}}"), { name: "a" }],
])("sees what the getter of an export reads: %s", (_compiler, get, expected) => {
  expect(readBy(get)).toEqual({ member: undefined, key: undefined, ...expected });
});

test.each([
  compiled("(() => this)"),
  compiled("() => 1"),
  compiled("() => a()"),
  getterOf("{ get own() { return this.hidden; } }"),
  getterOf("{ get counted() { a += 1; return a; } }"),
  getterOf("{ get [k]() { return a; } }"),
  undefined,
])("leaves other getters alone: %s", (get) => {
  expect(isReader(get)).toBe(false);
});

test("finds a value beside an export that is not initialised yet", () => {
  const all = compiled("(() => { const up = () => 1; return { get late() { return late; }, up }; let late; })()");
  if (typeof all !== "object" || all === null) throw new Error("there are no exports");
  expect(() => Reflect.get(all, "late")).toThrow(ReferenceError);
  expect(placeInExports(Reflect.get(all, "up"), all)).toEqual({ path: ["up"], wrapper: undefined });
});
