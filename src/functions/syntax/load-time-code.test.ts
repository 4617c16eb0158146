import { expect, test } from "vitest";
import { someWhenLoaded } from "./load-time-code.ts";
import { parseSource } from "./parse-source.ts";

function isCalled(source: string): boolean {
  const program = parseSource(source, true);
  return someWhenLoaded(program, (node) => {
    return node.type === "CallExpression" && node.callee.type === "Identifier" && node.callee.name === "wanted";
  });
}

test.each([
  "wanted();",
  "export const x = [1, wanted()];",
  "if (x) { await wanted(); }",
  "(async () => { await wanted(); })();",
  "async function main() { await wanted(); } main();",
  "export const main = async () => wanted(); await main().catch(console.error);",
  "function main() { start(); } const start = () => wanted(); main();",
  "class App { run() { wanted(); } } new App().run();",
  "class App { static run() { wanted(); } } App.run();",
  "class App { static { wanted(); } }",
  "(() => { function main() { wanted(); } main(); })();",
])("is made: %s", (source) => {
  expect(isCalled(source)).toBe(true);
});

test.each([
  "export const f = () => wanted();",
  "export function f() { wanted(); } export function g() { f(); }",
  "export const f = routine(async () => wanted());",
  "class App { run() { wanted(); } }",
  "function a() { b(); } function b() { a(); } a();",
  "wanted;",
])("is not made: %s", (source) => {
  expect(isCalled(source)).toBe(false);
});
