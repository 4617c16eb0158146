import { describe, expect, test } from "vitest";
import { siteOf } from "../engine/code-site.ts";
import type { SourceFile } from "../engine/source-file.ts";
import { parseSource } from "./parse-source.ts";
import { analyzeScopes } from "./scope-analysis.ts";

function fileOf(source: string, isModule = true): SourceFile {
  const program = parseSource(source, isModule);
  const script = { id: source, url: "", isModule, startLine: 0, startColumn: 0, sourceMapUrl: "", source };
  return { script, source, program, analysis: analyzeScopes(program), lineStarts: [0] };
}

/** The free names of the last function or class in the source. Those that are assigned to have a star. */
function freeNames(source: string, isModule = true): string[] {
  const file = fileOf(source, isModule);
  const [unit] = file.analysis.units.filter(({ scope }) => scope.kind === "top").slice(-1);
  if (unit === undefined) throw new Error("no function in the source");
  return [...siteOf(file, unit).free.values()].map(
    ({ name, binding }) => name + ((binding?.writes.length ?? 0) > 0 ? "*" : ""),
  );
}

describe("free names", () => {
  test.each([
    ["const a = 1; () => a;", ["a"]],
    ["let a; a = 1; () => a;", ["a*"]],
    ["let a; function set() { a++; } (() => a);", ["a*"]],
    ["let a; [a] = [1]; () => a;", ["a*"]],
    ["let a; ({ a } = {}); () => a;", ["a*"]],
    ["let a; ({ x: a = 1 } = {}); () => a;", ["a*"]],
    ["let a; for (a of []); () => a;", ["a*"]],
    ["let a = 1; () => { let a = 2; return a; };", []],
    ["let a = 1; () => { { let a = 2; } return a; };", ["a"]],
    ["(a, { b, ...c }, [d = e]) => [a, b, c, d];", ["e"]],
    ["(a = b) => { var b; };", ["b"]],
    ["() => { try {} catch (e) { e; } return e; };", ["e"]],
    ["() => { for (const x of y) x; return x; };", ["y", "x"]],
    ["() => { label: for (;;) break label; };", []],
    ["() => ({ a, b: c, [d]: 1, e() { return f; } });", ["a", "c", "d", "f"]],
    ["() => a.b.c;", ["a"]],
    ["() => class A extends B { [c] = d; static e = A; };", ["B", "c", "d"]],
    ["function f() { return f; }", ["f"]],
    ["(function f() { return f; });", []],
    ["(class C { m() { return C; } });", []],
    ["function f() { return arguments; }", []],
    ["() => arguments;", ["arguments"]],
    ["() => typeof undeclared;", ["undeclared"]],
    ["import a, { b as c } from 'm'; import * as d from 'n'; () => [a, c, d];", ["a", "c", "d"]],
    ["() => { switch (a) { case b: let c; default: c; } };", ["a", "b"]],
    ["() => `${a}` + b`${c}`;", ["a", "b", "c"]],
    ["class C extends X { static s = a; [b]() { return d; } static { e; } f = g; }", ["d", "g"]],
  ])("%s", (source, expected) => {
    expect(freeNames(source).toSorted()).toEqual(expected.toSorted());
  });

  test("a function in a block of sloppy code is a variable of the function around it", () => {
    expect(freeNames("(() => { { function f() {} } return f; });", false)).toEqual([]);
  });
});

test("what refers to the code around", () => {
  const file = fileOf("class A { #p; m() { return () => [this, super.x, this.#p, new.target]; } }");
  const arrow = file.analysis.units.find(({ node }) => node.type === "ArrowFunctionExpression");
  expect(arrow).toBeDefined();
  if (arrow === undefined) return;
  const kinds = siteOf(file, arrow).outward.map(({ type }) => type);
  expect(kinds.toSorted()).toEqual(["new.target", "private", "super", "this", "this"]);
});
