import type { AnyNode } from "acorn";
import type { CodeSite } from "../engine/index.ts";
import { type Binding, type CodeUnit, childrenOf, isFunctionNode } from "../syntax/index.ts";

/** True for a variable that is given a new object each time its scope is entered, and no other after that. */
export function isFreshInEachActivation({ kind, declaration, writes, scope }: Binding): boolean {
  // The variables in the head of a loop are copied from one iteration to the next.
  if (writes.length > 0 || scope.node.type === "ForStatement") return false;
  if (kind === "function") return true;
  if (kind !== "const" || declaration?.type !== "VariableDeclarator" || declaration.id.type !== "Identifier")
    return false;
  const { init } = declaration;
  return init != null && (isFunctionNode(init) || init.type === "ObjectExpression" || init.type === "ArrayExpression");
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
  const capturing = site.file.analysis.units.filter(
    (unit) => isWithin(unit.node, node) && unit.node !== node && capturesBinding(site, unit, binding),
  );
  const [only] = capturing;
  return capturing.length === 1 && only !== undefined && !isRepeatedWithin(node, only.node);
}

function isWithin(inner: AnyNode, outer: AnyNode): boolean {
  return inner.start >= outer.start && inner.end <= outer.end;
}

function capturesBinding(site: CodeSite, { node }: CodeUnit, binding: Binding): boolean {
  return site.file.analysis.references.some(
    (reference) => reference.binding === binding && isWithin(reference.node, node),
  );
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
