import { isFunction } from "../shipment/index.ts";
import { factsOf } from "./function-facts.ts";

/** Longer expressions are not repeated in a message. */
const MAX_EXPRESSION = 80;

/**
 * The name by which a function literal calls itself, as `crawl` in `routine(async function crawl() { crawl() })`: that is
 * the function, not what was made of it. Undefined for any other function, or when its source is not available.
 */
export function ownNameCalled(fn: object): string | undefined {
  const site = siteOf(fn);
  const node = site?.unit.node;
  if (site === undefined || node?.type !== "FunctionExpression" || node.id == null) return undefined;
  const isCalled = site.file.analysis.references.some(
    ({ binding, position }) =>
      position.type === "callee" && binding?.kind === "function-name" && binding.declaration === node,
  );
  return isCalled ? node.id.name : undefined;
}

/**
 * The expression that a variable of a module is initialised with, on one line, for a variable that a function captured
 * and that nothing assigns to. `...` when it is long; undefined for any other variable.
 */
export function moduleConstant(fn: object, name: string): string | undefined {
  const site = siteOf(fn);
  const binding = site?.free.get(name)?.binding;
  if (site === undefined || binding === undefined || binding.writes.length > 0) return undefined;
  const { declaration, scope } = binding;
  if (scope.kind !== "top" || declaration?.type !== "VariableDeclarator" || declaration.init == null) return undefined;
  const { start, end } = declaration.init;
  const text = site.file.source.slice(start, end).replace(/\s+/g, " ");
  return text.length <= MAX_EXPRESSION ? text : "...";
}

function siteOf(fn: object): ReturnType<typeof factsOf>["site"] | undefined {
  if (!isFunction(fn)) return undefined;
  try {
    return factsOf(fn).site;
  } catch {
    // A note is a convenience. The error is thrown again when the function itself has to travel.
    return undefined;
  }
}
