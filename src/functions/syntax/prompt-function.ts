import type { AnyNode } from "acorn";
import { childrenOf, isFunctionNode } from "./syntax-tree.ts";

/**
 * True for an async function that never awaits. Without `async` it does the same, and returns or throws at once instead of
 * making a promise. Functions that could notice the difference are left out: those that use their own name or `arguments`.
 */
export function isPromptFunction(node: AnyNode): boolean {
  if (!isFunctionNode(node) || node.async !== true || node.generator === true) return false;
  const isArrow = node.type === "ArrowFunctionExpression";
  const ownNames = isArrow ? [] : ["arguments", ...(node.id == null ? [] : [node.id.name])];
  return [...node.params, node.body].every((part) => !awaits(part) && !mentions(part, ownNames));
}

/** Whether code awaits something, apart from the functions in it. */
function awaits(node: AnyNode): boolean {
  if (node.type === "AwaitExpression") return true;
  if (node.type === "ForOfStatement" && node.await === true) return true;
  if (node.type === "VariableDeclaration" && node.kind === "await using") return true;
  if (isFunctionNode(node)) return false;
  for (const child of childrenOf(node)) if (awaits(child)) return true;
  return false;
}

function mentions(node: AnyNode, names: readonly string[]): boolean {
  if (names.length === 0) return false;
  if (node.type === "Identifier" && names.includes(node.name)) return true;
  for (const child of childrenOf(node)) if (mentions(child, names)) return true;
  return false;
}
