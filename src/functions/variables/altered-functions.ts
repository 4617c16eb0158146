import type { AnyNode } from "acorn";
import type { CodeSite, SourceFile } from "../engine/index.ts";
import { type Binding, type ClassNode, childrenOf, isClassNode } from "../syntax/index.ts";

/** Functions and classes of a file whose properties some code changes: `fn.cache = ...`, `Shape.prototype.area = ...`. */
interface Altered {
  readonly bindings: ReadonlySet<Binding>;
  /** Classes whose static members assign to `this`. */
  readonly classes: ReadonlySet<AnyNode>;
}

const altered = new WeakMap<SourceFile, Altered>();
const ALTERING: ReadonlySet<string> = new Set([
  "assign",
  "defineProperties",
  "defineProperty",
  "deleteProperty",
  "set",
  "setPrototypeOf",
]);

/**
 * True when code in the file of a function changes properties of the function itself, or of something that it captured.
 * Then a function or class differs from its definition.
 *
 * @param isData - true for the names of captured variables that hold data, not functions
 */
export function usesAltered({ file, unit, free }: CodeSite, isData: (name: string) => boolean = () => false): boolean {
  const { bindings, classes } = alteredIn(file);
  if (classes.has(unit.node)) return true;
  for (const { binding, name } of free.values()) {
    if (binding !== undefined && bindings.has(binding) && !isData(name)) return true;
  }
  for (const { declaration } of bindings) {
    if (declaration === unit.node) return true;
    if (declaration?.type === "VariableDeclarator" && declaration.init === unit.node) return true;
  }
  return false;
}

function alteredIn(file: SourceFile): Altered {
  const known = altered.get(file);
  if (known !== undefined) return known;
  const roots = new Set<AnyNode>();
  const classes = new Set<AnyNode>();
  collect(file.program, undefined, roots, classes);
  const bindings = new Set<Binding>();
  for (const { node, binding } of file.analysis.references) {
    if (binding !== undefined && roots.has(node)) bindings.add(binding);
  }
  const found = { bindings, classes };
  altered.set(file, found);
  return found;
}

/** @param self - the class that `this` is, in its static members */
function collect(node: AnyNode, self: ClassNode | undefined, roots: Set<AnyNode>, classes: Set<AnyNode>): void {
  for (const target of targetsOf(node)) {
    const root = rootOf(target);
    if (root.type === "Identifier") roots.add(root);
    else if (root.type === "ThisExpression" && self !== undefined) classes.add(self);
  }
  if (isClassNode(node)) {
    if (node.superClass != null) collect(node.superClass, self, roots, classes);
    for (const member of node.body.body) {
      const isStatic = member.type !== "StaticBlock" && member.static;
      for (const child of childrenOf(member)) {
        // The body of a method is a function, which normally has its own `this`.
        for (const inner of child.type === "FunctionExpression" ? childrenOf(child) : [child]) {
          collect(inner, isStatic ? node : undefined, roots, classes);
        }
      }
    }
    return;
  }
  const hasOwnThis = node.type === "FunctionExpression" || node.type === "FunctionDeclaration";
  for (const child of childrenOf(node)) collect(child, hasOwnThis ? undefined : self, roots, classes);
}

/** The nodes whose properties a piece of syntax changes. */
function* targetsOf(node: AnyNode): Generator<AnyNode> {
  if (node.type === "AssignmentExpression" || node.type === "ForInStatement" || node.type === "ForOfStatement") {
    yield* membersIn(node.left);
  } else if (node.type === "UpdateExpression" || (node.type === "UnaryExpression" && node.operator === "delete")) {
    yield* membersIn(node.argument);
  } else if (node.type === "CallExpression" && node.callee.type === "MemberExpression") {
    const { object, property } = node.callee;
    const [first] = node.arguments;
    const isAltering = property.type === "Identifier" && ALTERING.has(property.name);
    const isGlobal = object.type === "Identifier" && (object.name === "Object" || object.name === "Reflect");
    if (first !== undefined && isAltering && isGlobal) yield first;
  }
}

function* membersIn(target: AnyNode): Generator<AnyNode> {
  if (target.type === "MemberExpression") yield target;
  else if (target.type !== "Identifier") for (const child of childrenOf(target)) yield* membersIn(child);
}

function rootOf(node: AnyNode): AnyNode {
  return node.type === "MemberExpression" || node.type === "ChainExpression"
    ? rootOf(node.type === "ChainExpression" ? node.expression : node.object)
    : node;
}
