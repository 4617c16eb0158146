import type { AnyNode, FunctionExpression } from "acorn";
import { childrenOf, isClassNode, isFunctionNode } from "../syntax/index.ts";
import type { CodeSite } from "./code-site.ts";
import type { Entry } from "./paused-frame.ts";

/** How the function at a site can be entered without running anything of the user's; undefined when it cannot. */
export function entryTo({ unit }: CodeSite): Entry | undefined {
  const { node } = unit;
  const fn = isFunctionNode(node) ? node : constructorOf(node);
  const params = fn?.params ?? [];
  if (params.some(hasComputedKey)) return undefined;
  const way = isClassNode(node) ? "construct" : fn?.generator === true ? "iterate" : "call";
  return { parameterCount: params.length, way };
}

function constructorOf(node: AnyNode): FunctionExpression | undefined {
  if (!isClassNode(node)) return undefined;
  for (const member of node.body.body) {
    if (member.type === "MethodDefinition" && member.kind === "constructor") return member.value;
  }
  return undefined;
}

function hasComputedKey(node: AnyNode): boolean {
  if (isFunctionNode(node)) return false;
  if (node.type === "Property" && node.computed) return true;
  for (const child of childrenOf(node)) if (hasComputedKey(child)) return true;
  return false;
}
