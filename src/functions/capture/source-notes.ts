import { basename, extname } from "node:path";
import type { AnyNode, MemberExpression } from "acorn";
import { type CodeSite, type SourceFile, siteAt, viewFunction } from "../engine/index.ts";
import { isInPackage, isOfPackage, pathOf } from "../modules/index.ts";
import { isClass, isFunction, revivedSource } from "../shipment/index.ts";
import { childrenOf, isClassNode, isFunctionNode, isModuleLevel, moduleBody, nodesAround } from "../syntax/index.ts";
import { factsOf } from "../variables/index.ts";
import { type LoadedApart, loadedApart, moduleVariable } from "./module-use.ts";

/** Longer expressions are not repeated in a message. */
const MAX_EXPRESSION = 160;

/**
 * The name by which a function literal calls itself, as `crawl` in `routine(async function crawl() { crawl() })`: that
 * name is the function, not the routine. Undefined for any other function, or when its source is not available.
 */
export function ownNameCalled(fn: object): string | undefined {
  const site = siteIfKnown(fn);
  const node = site?.unit.node;
  if (site === undefined || node?.type !== "FunctionExpression" || node.id == null) return undefined;
  const isCalled = site.file.analysis.references.some(
    ({ binding, position }) =>
      position.type === "callee" && binding?.kind === "function-name" && binding.declaration === node,
  );
  return isCalled ? node.id.name : undefined;
}

/**
 * What a function that travels as code loads by itself, and the module of which it then has two instances. Undefined for
 * any other function.
 */
export function secondInstanceIn(fn: object): LoadedApart | undefined {
  const site = siteIfKnown(fn);
  if (site === undefined || !isFunction(fn) || factsOf(fn).exported !== undefined) return undefined;
  return loadedApart(site);
}

/** How the user made the value of a captured variable. */
export interface Making {
  /**
   * The expression that the variable is initialised with, on one line; `...` when it is long, or cannot be used
   * elsewhere.
   */
  readonly expression: string;
  /** True when the expression awaits something. */
  readonly isAwaited: boolean;
  /** The package that the expression uses. */
  readonly source: string | undefined;
}

/**
 * How a captured variable got its value, if the user's code declares it and nothing else assigns to it; undefined for
 * any other variable.
 */
export function makingOf(fn: object, name: string): Making | undefined {
  const site = siteIfKnown(fn);
  const binding = site?.free.get(name)?.binding;
  if (site === undefined || binding === undefined || binding.writes.length > 0) return undefined;
  const { declaration } = binding;
  const path = pathOf(site.file.script.url);
  if (declaration?.type !== "VariableDeclarator" || declaration.init == null) return undefined;
  if (path !== undefined && isInPackage(path)) return undefined;
  const { init } = declaration;
  const inside = site.file.analysis.references.filter(({ node }) => node.start >= init.start && node.end <= init.end);
  const source = inside
    .map((reference) => moduleVariable(reference.binding)?.source)
    .find((each) => each !== undefined && isOfPackage(each, path ?? ""));
  const isOfModule = inside.every(
    (reference) =>
      reference.binding === undefined ||
      isModuleLevel(reference.binding.scope, site.file.program) ||
      (reference.binding.scope.node.start >= init.start && reference.binding.scope.node.end <= init.end),
  );
  const text = site.file.source.slice(init.start, init.end).replace(/\s+/g, " ");
  const isShown = declaration.id.type === "Identifier" && isOfModule && text.length <= MAX_EXPRESSION;
  return { expression: isShown ? text : "...", isAwaited: awaits(init), source };
}

function awaits(node: AnyNode): boolean {
  if (isFunctionNode(node) || isClassNode(node)) return false;
  return node.type === "AwaitExpression" || [...childrenOf(node)].some(awaits);
}

/** The kind that a compiler's helper passes for a decorated property: TypeScript passes none, esbuild this. */
const PROPERTY_KIND = 2;

/**
 * The package whose decorators a class has on its properties. Such decorators can only record something about the class
 * in the package's state, and another process has another state. Undefined for any other class.
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

function siteIfKnown(fn: object): CodeSite | undefined {
  if (!isFunction(fn)) return undefined;
  try {
    return factsOf(fn).site;
  } catch {
    // A note is optional. The error is thrown again when the function itself has to travel.
    return undefined;
  }
}

const names = new WeakMap<object, string | undefined>();

/**
 * The name in the source for the result of the call that a function literal is an argument of, as `add` in `const add =
 * routine(async () => 1)`; `default` for a default export. Without a name, the place of the function, as `anonymous at
 * app.ts:12`. Undefined when the source is not available. Reads the source of the function's module, as `dismantle`
 * does.
 */
export function writtenName(fn: object): string | undefined {
  if (names.has(fn)) return names.get(fn);
  const name = revivedSource(fn) === undefined ? findName(fn) : undefined;
  names.set(fn, name);
  return name;
}

function findName(fn: object): string | undefined {
  try {
    const { location } = viewFunction(fn);
    const site = location === undefined ? undefined : siteAt(location, isClass(fn));
    if (location === undefined || site === undefined) return undefined;
    return nameInSource(site.file, site.unit.node) ?? placeName(site.file, location.line + 1);
  } catch {
    // A name is optional. The error is thrown again when the function itself has to travel.
    return undefined;
  }
}

function placeName({ script }: SourceFile, line: number): string | undefined {
  const path = pathOf(script.url);
  return path === undefined ? undefined : `anonymous at ${basename(path)}:${line}`;
}

/** The name for the result that is made from the function at a node. */
function nameInSource(file: SourceFile, node: AnyNode): string | undefined {
  const around = nodesAround(file.program, node);
  const call = around.at(-1);
  if (call?.type !== "CallExpression" || !call.arguments.some((argument) => argument === node)) return undefined;
  const name = nameFrom(around.slice(0, -1), call);
  return name === undefined ? undefined : asDefault(file, name);
}

function nameFrom(around: readonly AnyNode[], value: AnyNode): string | undefined {
  const parent = around.at(-1);
  switch (parent?.type) {
    case "VariableDeclarator":
      return parent.id.type === "Identifier" ? parent.id.name : undefined;
    case "AssignmentExpression":
      return parent.right === value ? targetName(parent.left) : undefined;
    case "AssignmentPattern":
      return parent.left.type === "Identifier" ? parent.left.name : undefined;
    case "Property":
    case "PropertyDefinition":
      return parent.value === value ? keyName(parent.key, parent.computed) : undefined;
    case "ExportDefaultDeclaration":
      return "default";
    case "MemberExpression": {
      // As in `routine(...).with(...)`.
      const call = around.at(-2);
      return call?.type === "CallExpression" && call.callee === parent
        ? nameFrom(around.slice(0, -2), call)
        : undefined;
    }
    case "CallExpression":
      return definedName(parent.arguments, value);
    default:
      return undefined;
  }
}

function targetName(target: AnyNode): string | undefined {
  if (target.type === "Identifier") return target.name;
  if (target.type !== "MemberExpression") return undefined;
  return isModuleExports(target) ? "default" : keyName(target.property, target.computed);
}

function isModuleExports({ object, property, computed }: MemberExpression): boolean {
  if (computed || property.type !== "Identifier" || property.name !== "exports") return false;
  return object.type === "Identifier" && object.name === "module";
}

function keyName(key: AnyNode, isComputed: boolean): string | undefined {
  if (key.type === "Literal") return String(key.value);
  if (isComputed) return undefined;
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  return key.type === "Identifier" ? key.name : undefined;
}

/** Transpilers define a field with a call, as `__publicField(this, "add", ...)`. */
function definedName([, key, value]: readonly AnyNode[], wanted: AnyNode): string | undefined {
  return value === wanted && key?.type === "Literal" && typeof key.value === "string" ? key.value : undefined;
}

/** Transpilers keep a default export in a variable that they add: esbuild names it after the file. */
function asDefault(file: SourceFile, name: string): string {
  if (/^__(?:vi|vite_ssr)_export_default__$/.test(name)) return "default";
  const path = pathOf(file.script.url.replace(/[?#].*$/, "")) ?? "";
  const stem = basename(path, extname(path)).replace(/\W/g, "_");
  return name === `${stem}_default` || name === "stdin_default" ? "default" : name;
}
