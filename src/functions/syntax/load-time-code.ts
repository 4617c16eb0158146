import type { AnyNode, Program } from "acorn";
import { moduleBody } from "./module-level.ts";
import { childrenOf, isClassNode, isFunctionNode } from "./syntax-tree.ts";

/**
 * True when code that `isMeant` accepts may run as a module is loaded: outside of functions, or in a function or class
 * of the module that is called while it loads, by its name, as `main()`, or in place. Asks about each such node until
 * one is accepted.
 */
export function someWhenLoaded(program: Program, isMeant: (node: AnyNode) => boolean): boolean {
  const declared = declaredIn(program);
  const entered = new Set<AnyNode>();
  const enter = (node: AnyNode): boolean => {
    if (entered.has(node)) return false;
    entered.add(node);
    return isClassNode(node) ? anyMember(node) : anyIn(node);
  };
  const anyIn = (node: AnyNode): boolean => {
    for (const child of childrenOf(node)) if (look(child)) return true;
    return false;
  };
  const anyMember = (node: AnyNode): boolean => {
    for (const child of childrenOf(node)) if (isFunctionNode(child) ? enter(child) : anyMember(child)) return true;
    return false;
  };
  const look = (node: AnyNode): boolean => {
    if (isFunctionNode(node)) return false;
    if (isMeant(node)) return true;
    if (node.type === "CallExpression" || node.type === "NewExpression") {
      const { callee } = node;
      const called = isFunctionNode(callee) ? callee : declared.get(rootName(callee));
      if (called !== undefined && enter(called)) return true;
    }
    return anyIn(node);
  };
  return anyIn(program);
}

/** The functions and classes that a module declares at its top level, by name. */
function declaredIn(program: Program): Map<string, AnyNode> {
  const declared = new Map<string, AnyNode>();
  for (const statement of moduleBody(program)) {
    const isExport = statement.type === "ExportNamedDeclaration" || statement.type === "ExportDefaultDeclaration";
    const node = isExport ? statement.declaration : statement;
    if (node?.type === "FunctionDeclaration" || node?.type === "ClassDeclaration") {
      if (node.id != null) declared.set(node.id.name, node);
    } else if (node?.type === "VariableDeclaration") {
      for (const { id, init } of node.declarations) {
        if (id.type !== "Identifier" || init == null) continue;
        if (isFunctionNode(init) || isClassNode(init)) declared.set(id.name, init);
      }
    }
  }
  return declared;
}

function rootName(callee: AnyNode): string {
  if (callee.type === "MemberExpression") return rootName(callee.object);
  return callee.type === "Identifier" ? callee.name : "";
}
