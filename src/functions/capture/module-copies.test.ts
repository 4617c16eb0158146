import { expect, test } from "vitest";
import { parseSource } from "../syntax/index.ts";
import { loadedSpecifier } from "./module-copies.ts";

function specifierIn(expression: string): string | undefined {
  const { body } = parseSource(`async () => (${expression})`, false);
  const [statement] = body;
  if (statement?.type !== "ExpressionStatement" || statement.expression.type !== "ArrowFunctionExpression") return "?";
  return loadedSpecifier(statement.expression.body);
}

test.each([
  'require("./m.js")',
  'await import("./m.js")',
  "await import(`./m.js`)",
  '__toESM(require("./m.js"))',
  '(0, tslib_1.__importStar)(require("./m.js"))',
  '_interopRequireWildcard(require("./m.js"))',
  '_interop_require_wildcard(require("./m.js"))',
  '_interop_require_default(require("./m.js"))',
  'await import("./m.js").then((s)=>{const e="default";return s[e]&&typeof s[e]=="object"&&"__esModule"in s[e]?s[e]:s})',
])("a module is loaded by %s", (expression) => {
  expect(specifierIn(expression)).toBe("./m.js");
});

test.each([
  'await import("./m.js").then((m) => m.config)',
  'await import("./m.js").then((m) => { const name = "default"; return m[name]; })',
  "await import(`./${name}.js`)",
  'wrap(require("./m.js"))',
])("something else is loaded by %s", (expression) => {
  expect(specifierIn(expression)).toBeUndefined();
});
