import type { CodeSite } from "../engine/index.ts";
import { isOfPackage, pathOf } from "../modules/index.ts";
import { isFunction } from "../shipment/index.ts";
import { isModuleLevel, moduleBody } from "../syntax/index.ts";
import { factsOf } from "./function-facts.ts";
import { moduleVariable } from "./module-use.ts";

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
  if (
    !isModuleLevel(scope, site.file.program) ||
    declaration?.type !== "VariableDeclarator" ||
    declaration.init == null
  )
    return undefined;
  const { start, end } = declaration.init;
  const text = site.file.source.slice(start, end).replace(/\s+/g, " ");
  return text.length <= MAX_EXPRESSION ? text : "...";
}

/** What the helper of a compiler that decorates a property says of it: TypeScript passes nothing, esbuild a kind. */
const PROPERTY_KIND = 2;

/**
 * The package whose decorators a class has on its properties. All that these can do is to note something about the class,
 * in the package's own state, which is not that of another process. Undefined for any other class.
 */
export function decoratingPackage({ file, unit }: CodeSite): string | undefined {
  const name = "id" in unit.node ? unit.node.id?.name : undefined;
  if (name === undefined || !file.source.includes("__decorate")) return undefined;
  for (const statement of moduleBody(file.program)) {
    if (statement.type !== "ExpressionStatement" || statement.expression.type !== "CallExpression") continue;
    const { callee, arguments: args } = statement.expression;
    const [decorators, target, , kind] = args;
    if (!/__decorate(?:Class)?$/.test(file.source.slice(callee.start, callee.end))) continue;
    if (target?.type !== "MemberExpression" || target.object.type !== "Identifier" || target.object.name !== name)
      continue;
    const isProperty = kind?.type === "UnaryExpression" || (kind?.type === "Literal" && kind.value === PROPERTY_KIND);
    if (!isProperty || decorators === undefined) continue;
    for (const { node, binding } of file.analysis.references) {
      if (node.start < decorators.start || node.end > decorators.end) continue;
      const source = moduleVariable(binding)?.source;
      if (source !== undefined && isOfPackage(source, pathOf(file.script.url) ?? "")) return source;
    }
  }
  return undefined;
}

function siteOf(fn: object): CodeSite | undefined {
  if (!isFunction(fn)) return undefined;
  try {
    return factsOf(fn).site;
  } catch {
    // A note is a convenience. The error is thrown again when the function itself has to travel.
    return undefined;
  }
}
