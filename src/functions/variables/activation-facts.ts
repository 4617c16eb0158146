import type { AnyNode } from "acorn";
import { type CodeSite, intrinsicPathOf } from "../engine/index.ts";
import {
  type Binding,
  type CodeUnit,
  childrenOf,
  isClassNode,
  isFunctionNode,
  isWithin,
  type Scope,
} from "../syntax/index.ts";

/** True for a variable that gets a new object each time its scope is entered, and no other value after that. */
export function isFreshInEachActivation({ kind, declaration, writes, scope }: Binding): boolean {
  // The variables in the head of a loop are copied from one iteration to the next.
  if (writes.length > 0 || scope.node.type === "ForStatement") return false;
  if (kind === "function" || kind === "class") return true;
  if (kind !== "const" || declaration?.type !== "VariableDeclarator" || declaration.id.type !== "Identifier")
    return false;
  return declaration.init != null && isNewObject(declaration.init, scope);
}

/** Constructors of the engine, which never return an object that was there before. */
const CONSTRUCTORS: ReadonlySet<string> = new Set(["Array", "Date", "Map", "Object", "Set", "WeakMap", "WeakSet"]);

function isNewObject(node: AnyNode, scope: Scope): boolean {
  if (isFunctionNode(node) || isClassNode(node)) return true;
  if (node.type === "ObjectExpression" || node.type === "ArrayExpression") return true;
  if (node.type === "Literal") return node.regex !== undefined && node.regex !== null;
  if (node.type !== "NewExpression" || node.callee.type !== "Identifier") return false;
  const { name } = node.callee;
  // `new Object(value)` returns the value.
  if (!CONSTRUCTORS.has(name) || (name === "Object" && node.arguments.length > 0)) return false;
  const value: unknown = Reflect.get(globalThis, name);
  return scope.lookup(name) === undefined && typeof value === "function" && intrinsicPathOf(value) === name;
}

/**
 * True when only one function of the source captures a binding and at most one such function is made in each
 * activation: then two of them never share it.
 */
export function isCapturedOncePerActivation(site: CodeSite, binding: Binding): boolean {
  const known = capturedOnce.get(binding) ?? findCapturedOnce(site, binding);
  capturedOnce.set(binding, known);
  return known;
}

const capturedOnce = new WeakMap<Binding, boolean>();

function findCapturedOnce(site: CodeSite, binding: Binding): boolean {
  const { node } = binding.scope;
  const uses = usesOf(site, binding);
  let only: CodeUnit | undefined;
  for (const unit of site.file.analysis.units) {
    if (unit.node === node || !isWithin(unit.node, node)) continue;
    if (!uses.some((use) => isWithin(use, unit.node))) continue;
    if (only !== undefined) return false;
    only = unit;
  }
  return only !== undefined && !isRepeatedWithin(node, only.node);
}

const usesIn = new WeakMap<object, Map<Binding, AnyNode[]>>();

/** Where a binding is used in its file. Sorted once for each file: a bundle has a hundred thousand of them. */
function usesOf({ file }: CodeSite, binding: Binding): readonly AnyNode[] {
  const known = usesIn.get(file) ?? sortUses(file.analysis.references);
  usesIn.set(file, known);
  return known.get(binding) ?? [];
}

function sortUses(references: CodeSite["file"]["analysis"]["references"]): Map<Binding, AnyNode[]> {
  const sorted = new Map<Binding, AnyNode[]>();
  for (const { binding, node } of references) {
    if (binding === undefined) continue;
    const uses = sorted.get(binding);
    if (uses === undefined) sorted.set(binding, [node]);
    else uses.push(node);
  }
  return sorted;
}

const LOOPS: ReadonlySet<string> = new Set([
  "ForStatement",
  "ForInStatement",
  "ForOfStatement",
  "WhileStatement",
  "DoWhileStatement",
]);

function isRepeatedWithin(outer: AnyNode, inner: AnyNode): boolean {
  for (const child of childrenOf(outer)) {
    if (!isWithin(inner, child)) continue;
    return (child !== inner && LOOPS.has(child.type)) || (child !== inner && isRepeatedWithin(child, inner));
  }
  return false;
}
