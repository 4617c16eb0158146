import { expect, test } from "vitest";
import { parseFunctionText } from "./function-text.ts";
import { isPromptFunction } from "./prompt-function.ts";
import { analyzeScopes } from "./scope-analysis.ts";

function isPrompt(text: string): boolean {
  const program = parseFunctionText(text);
  const unit = program === undefined ? undefined : analyzeScopes(program).units[0];
  if (unit === undefined) throw new Error(`not a function: ${text}`);
  return isPromptFunction(unit.node);
}

test.each([
  "async (n) => n + 1",
  "async n => { throw n }",
  "async ({ a = 1 }) => fetch(a)",
  "async () => async () => await 1",
  "async () => { for (const x of [1]) x }",
  "async function () { return this }",
  "async function add(a, b) { return a + b }",
])("an async function that never awaits is prompt: %s", (text) => {
  expect(isPrompt(text)).toBe(true);
});

test.each([
  ["it is not async", "(n) => n + 1"],
  ["it is not async", "function add(a, b) { return a + b }"],
  ["it awaits", "async (n) => await n"],
  ["it awaits", "async (n) => { if (n) { for (;;) { return [await n] } } }"],
  ["it awaits", "async (n) => class { [await n]() {} }"],
  ["it awaits items", "async (list) => { for await (const item of list) item }"],
  ["it is a generator", "async function* () { yield 1 }"],
  ["it uses its own name", "async function again(n) { return n > 0 ? again(n - 1) : 0 }"],
  ["a function in it uses its name", "async function again() { return () => again }"],
  ["it uses its arguments", "async function () { return arguments.callee }"],
])("%s: %s", (_reason, text) => {
  expect(isPrompt(text)).toBe(false);
});
