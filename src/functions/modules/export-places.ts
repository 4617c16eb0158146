import { types } from "node:util";
import type { AnyNode } from "acorn";
import { isObject } from "../../checks/index.ts";
import { readVariable, type ScopeView, type Script, sourceFileOf } from "../engine/index.ts";
import { type Dependency, isWrap, runtimeExport, wrappedBy } from "../shipment/index.ts";
import { type CodeUnit, isClassNode, isModuleLevel } from "../syntax/index.ts";
import { isAssignedLater } from "./export-declarations.ts";
import { moduleFactsOf } from "./module-facts.ts";

/** Where a module exports a value. */
export interface ExportPlace {
  /** The path from the module's namespace, or from `module.exports` of CommonJS; empty for these themselves. */
  readonly path: readonly string[];
  /** Set when the value is inside an exported wrapper: that wrapper, or "unseen" if it cannot be read. */
  readonly wrapper: object | "unseen" | undefined;
  /** Set for a value that the module does not export: the path is the name of a variable of the module. */
  readonly isVariable?: boolean;
}

/** An export of a module that the receiver can load by itself. */
export interface ModuleReference extends ExportPlace {
  readonly module: Dependency;
  /** The name of the module in messages: a specifier, or a path relative to the root. */
  readonly title: string;
}

/** The place of a value among the exports of the module that defines it; undefined when it has none. */
export function exportedAs(
  value: object,
  script: Script,
  unit: CodeUnit,
  scopes: readonly ScopeView[],
): ExportPlace | undefined {
  const moduleScope = scopes.find(({ description }) => description === "Module");
  let wrapped: ExportPlace | undefined;
  for (const [name, local] of moduleFactsOf(script).exports) {
    const path = [name];
    if (typeof local !== "string") {
      if (local === unit.node) return { path, wrapper: undefined };
      if (isWrapCall(local, unit, script, moduleScope)) wrapped ??= { path, wrapper: "unseen" };
    } else if (moduleScope !== undefined && Object.hasOwn(moduleScope.variables, local)) {
      if (isAssignedLater(script, local)) continue;
      const exported = readVariable(moduleScope, local);
      if (exported === value) return { path, wrapper: undefined };
      if (holds(exported, value)) wrapped ??= { path, wrapper: exported };
    }
  }
  return wrapped;
}

/** The variables that a module exports, except those that are assigned to later. */
export function exportedValues(script: Script, scopes: readonly ScopeView[]): object {
  const values: Record<string, unknown> = {};
  const moduleScope = scopes.find(({ description }) => description === "Module");
  for (const [name, local] of moduleScope === undefined ? [] : moduleFactsOf(script).exports) {
    if (typeof local !== "string" || isAssignedLater(script, local)) continue;
    if (moduleScope !== undefined && Object.hasOwn(moduleScope.variables, local)) {
      values[name] = readVariable(moduleScope, local);
    }
  }
  return values;
}

/**
 * The variable in which a module keeps a class that it does not export; undefined for every other function. So code of
 * the module that the receiver runs by itself recognises its instances.
 */
export function keptClass(
  value: object,
  { id }: Script,
  unit: CodeUnit,
  scopes: readonly ScopeView[],
): ExportPlace | undefined {
  const { node, scope } = unit;
  const program = sourceFileOf(id)?.program;
  if (!isClassNode(node) || program === undefined || !isModuleLevel(scope, program)) return undefined;
  for (const { name, declaration, writes } of scope.bindings.values()) {
    const isDeclared =
      declaration === node || (declaration?.type === "VariableDeclarator" && declaration.init === node);
    const holder = isDeclared ? scopes.find(({ variables }) => Object.hasOwn(variables, name)) : undefined;
    if (writes.length > 0 || holder === undefined || readVariable(holder, name) !== value) continue;
    return { path: [name], wrapper: undefined, isVariable: true };
  }
  return undefined;
}

/** True for a wrapper with that function inside, unless it has to travel by value. */
function holds(wrapper: unknown, value: WeakKey): wrapper is object {
  const inside = wrappedBy(wrapper);
  return inside?.fn === value && inside.policy.ship !== "value";
}

/**
 * True when an expression wraps the function or class at a unit, as that of `export default routine(async () => 1)`: the
 * engine does not show the result.
 */
function isWrapCall(node: AnyNode, unit: CodeUnit, script: Script, moduleScope: ScopeView | undefined): boolean {
  if (node.type !== "CallExpression" || moduleScope === undefined) return false;
  const [first, options] = node.arguments;
  if (first === undefined || mayShipByValue(options)) return false;
  const isInside = first === unit.node || isNameOf(first, unit, script);
  return isInside && isWrap(calleeValue(node.callee, script, moduleScope));
}

function mayShipByValue(options: AnyNode | undefined): boolean {
  if (options === undefined) return false;
  if (options.type !== "ObjectExpression") return true;
  return options.properties.some((property) => {
    if (property.type !== "Property" || property.computed || property.key.type !== "Identifier") return true;
    return property.key.name === "ship";
  });
}

function isNameOf(node: AnyNode, unit: CodeUnit, script: Script): boolean {
  if (node.type !== "Identifier") return false;
  const binding = sourceFileOf(script.id)?.analysis.top.bindings.get(node.name);
  const { declaration, writes = [] } = binding ?? {};
  if (declaration === undefined || writes.length > 0) return false;
  return declaration === unit.node || (declaration.type === "VariableDeclarator" && declaration.init === unit.node);
}

/** The called function, if it is a variable of the module or an export of the runtime. */
function calleeValue(callee: AnyNode, script: Script, scope: ScopeView): unknown {
  const [variable, member] = callee.type === "MemberExpression" ? [callee.object, callee.property] : [callee];
  if (variable.type !== "Identifier") return undefined;
  const imported = sourceFileOf(script.id)?.analysis.top.bindings.get(variable.name)?.imported;
  if (member !== undefined) {
    if (member.type !== "Identifier" || imported?.imported !== "*") return undefined;
    return runtimeExport(`${imported.source}#${member.name}`);
  }
  const value = readVariable(scope, variable.name);
  return value === undefined && imported !== undefined
    ? runtimeExport(`${imported.source}#${imported.imported}`)
    : value;
}

/** The place of a value among the exports of a CommonJS module; undefined when it has none. */
export function placeInExports(value: WeakKey, exports: unknown): ExportPlace | undefined {
  if (exports === value) return { path: [], wrapper: undefined };
  if (!isObject(exports) || types.isProxy(exports)) return undefined;
  let wrapped: ExportPlace | undefined = holds(exports, value) ? { path: [], wrapper: exports } : undefined;
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(exports))) {
    const path = [name];
    const member = isReader(descriptor.get) ? readExport(exports, name) : descriptor.value;
    if (member === value) return { path, wrapper: undefined };
    if (holds(member, value)) wrapped ??= { path, wrapper: member };
  }
  return wrapped;
}

function readExport(exports: object, name: string): unknown {
  try {
    return Reflect.get(exports, name);
  } catch {
    // Not initialised yet, as where modules import each other.
    return undefined;
  }
}

// A variable, or a member of one, as an arrow function, as a function, or, by swc, as a getter of an object. webpack writes
// `() => (/* reexport */ name)`.
const READER =
  /^(?:\(\)\s*=>\s*(?:\{\s*try\s*\{\s*return\s+)?|(?:function|get\s+(?:[\w$]+|"[^"]*"))\s*\(\)\s*\{\s*return\s+)(?:\(?\s*\/\*[\w\s]+\*\/\s*)?(?!(?:this|arguments)\b)([A-Za-z_$][\w$]*)(?:\.([\w$]+)|\[([\w$]+)\])?\)?;?\s*\}?(?:\s*catch\s*\{\s*\}\s*;?\s*\})?$/;

/** True for the getter that a transpiler makes for an export: `() => name`. Other getters are not run. */
export function isReader(get: unknown): get is () => unknown {
  return readBy(get) !== undefined;
}

/** What the getter of an export reads: a variable, or a member of it. */
interface ReadPlace {
  readonly name: string;
  readonly member: string | undefined;
  /** The variable that has the name of the member. */
  readonly key: string | undefined;
}

/** What the getter that a transpiler makes for an export reads; undefined for other getters. */
export function readBy(get: unknown): ReadPlace | undefined {
  if (typeof get !== "function") return undefined;
  const [, name, member, key] = READER.exec(Function.prototype.toString.call(get)) ?? [];
  return name === undefined ? undefined : { name, member, key };
}
